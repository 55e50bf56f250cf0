import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type NewTask, type Principal, systemClock, systemRandom } from '../../src/core/index.ts';
import { type SqliteStoreOptions, sqliteStore, type TaskStore } from '../../src/store/index.ts';
import { aTask } from '../../src/testing/index.ts';
import { silent } from './stores.ts';

const OWNER: Principal = { subject: 'owner' };

/** A word of its own for each kind of payload. */
function needle(kind: string): string {
  return `needle-${kind.replaceAll(' ', '-')}-7f3a`;
}

export const KINDS = [
  'argument',
  'prepared',
  'request id',
  'progress token',
  'traceparent',
  'label',
  'idempotency key',
  'request hash',
  'status message',
  'progress message',
  'log line',
  'step key',
  'step name',
  'step value',
  'step error',
  'question key',
  'form message',
  'form schema',
  'page',
  'sampling',
  'answer',
  'decline', // An action is an answer too; the word itself is what is looked for.
  'note',
  'retry error',
  'error message',
  'error data',
  'result',
  'cancel reason',
] as const;

function wordOf(kind: (typeof KINDS)[number]): string {
  return kind === 'decline' ? 'decline' : needle(kind);
}

export async function openStore(file: string, options: SqliteStoreOptions = {}): Promise<TaskStore> {
  const environment = { clock: systemClock, random: systemRandom, logger: silent };
  return (await sqliteStore(file, options).open(environment)).store;
}

/** Puts every kind of payload into a store; the result are the tasks. */
export async function plantNeedles(
  store: TaskStore,
): Promise<{ completed: string; failed: string; cancelled: string }> {
  const given: Partial<NewTask> = {
    input: { text: needle('argument') },
    prepared: { text: needle('prepared') },
    originRequestId: needle('request id'),
    progressToken: needle('progress token'),
    traceparent: needle('traceparent'),
    labels: { label: needle('label') },
  };
  const options = { workerId: 'w', leaseMs: 60_000 };
  const run = async (more: Partial<NewTask>, how: Parameters<TaskStore['create']>[1] = {}) => {
    const { task } = await store.create(aTask({ principal: OWNER, ...more }), how);
    const [claimed] = await store.claim([task.taskId], options);
    if (claimed === undefined) throw new Error('the task could not be claimed');
    return claimed.lease;
  };
  const idempotency = { key: needle('idempotency key'), requestHash: needle('request hash') };
  const lease = await run(given, { idempotency });
  await store.report(lease, {
    progress: { progress: 1, message: needle('progress message') },
    statusMessage: needle('status message'),
  });
  await store.appendLog(lease, [{ level: 'info', text: needle('log line'), at: 1 }]);
  const step = { key: `${needle('step key')}#1`, name: needle('step name'), ordinal: 1, seq: 0 };
  await store.recordStep(lease, { ...step, body: JSON.stringify(needle('step value')) });
  const error = JSON.stringify({ message: needle('step error') });
  await store.recordStep(lease, { key: 'b#1', name: 'b', ordinal: 1, seq: 1, body: null, error });
  const schema = { type: 'object', properties: { [needle('form schema')]: { type: 'string' } } };
  await store.ask(lease, needle('question key'), { kind: 'form', message: needle('form message'), schema });
  await store.ask(lease, 'page', { kind: 'url', message: 'go', url: `https://x.example/${needle('page')}` });
  await store.ask(lease, 'model', { kind: 'sampling', params: { messages: [needle('sampling')] } });
  await store.answer(
    lease.taskId,
    OWNER,
    new Map([
      [needle('question key'), { action: 'accept', content: { text: needle('answer') } }],
      ['page', { action: 'decline' }],
    ]),
  );
  await store.note(lease, 'handler_changed', { how: needle('note') });
  await store.finish(lease, { status: 'completed', result: { content: [{ type: 'text', text: needle('result') }] } });

  const flaky = await run({});
  await store.release(flaky, { to: 'retry', availableAt: 0, error: needle('retry error') }, 0);
  const [again] = await store.claim([flaky.taskId], options);
  await store.finish((again as NonNullable<typeof again>).lease, {
    status: 'failed',
    error: { code: -32603, message: needle('error message'), data: { text: needle('error data') } },
  });

  const unwanted = await run({});
  await store.cancel(unwanted.taskId, OWNER, needle('cancel reason'));
  return { completed: lease.taskId, failed: flaky.taskId, cancelled: unwanted.taskId };
}

/** Everything a store tells about these tasks, to be compared. */
export async function everythingOf(store: TaskStore, taskIds: readonly string[]): Promise<unknown> {
  return Promise.all(
    taskIds.map(async (taskId) => ({
      record: await store.get(taskId, OWNER),
      inspection: await store.inspect(taskId),
      payloads: await store.payloads(taskId),
      attempts: await store.attempts(taskId),
      timeline: await store.timeline(taskId, 0, 100),
      log: await store.readLog(taskId, 0, 1_000),
      history: await store.history(taskId),
    })),
  );
}

/** The kinds whose needle is in any file of the folder, whatever the file is. */
export function kindsFoundIn(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  const bytes = files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file));
  return KINDS.filter((kind) => bytes.some((content) => content.includes(wordOf(kind))));
}
