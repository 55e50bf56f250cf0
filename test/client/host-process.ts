// A host with one call to make, on a journal that outlives it. Its server is its parent: every request is a message, and
// the parent kills this process at any one of them. It says what it finds in its inbox, and ends when that is empty.
import { openTaskClient, type Remote, RemoteGoneError } from '../../src/client/index.ts';
import type { Outcome, RemoteTask, Started } from '../../src/client/remote.ts';

const [journal, repeatable, makesCall] = process.argv.slice(2) as [string, string, string];
const pending = new Map<number, (answer: { value?: unknown; gone?: boolean }) => void>();
let last = 0;

/** Sends a message and waits for its answer. The parent may answer with SIGKILL. */
async function tell<Result>(what: object): Promise<Result> {
  last += 1;
  const number = last;
  const answered = new Promise<{ value?: unknown; gone?: boolean }>((resolve) => pending.set(number, resolve));
  process.send?.({ number, ...what });
  const { value, gone } = await answered;
  if (gone === true) throw new RemoteGoneError('no such task');
  return value as Result;
}

process.on('message', ({ number, ...answer }: { number: number; value?: unknown; gone?: boolean }) => {
  pending.get(number)?.(answer);
  pending.delete(number);
});

const asTask = (task: RemoteTask): RemoteTask => ({ ...task, questions: new Map() });
const remote: Remote = {
  revision: '2026-07-28',
  repeatable: repeatable === 'true',
  origin: 'the parent',
  listTools: async () => [],
  async start({ name, idempotencyKey }) {
    if (name === 'marker') return { kind: 'immediate', outcome: { status: 'completed', result: { content: [] } } };
    const started = await tell<Started>({ method: 'start', key: idempotencyKey });
    return started.kind === 'task' ? { kind: 'task', task: asTask(started.task) } : started;
  },
  get: async (taskId) => asTask(await tell<RemoteTask>({ method: 'get', taskId })),
  outcome: (taskId) => tell<Outcome>({ method: 'outcome', taskId }),
  answer: async () => {},
  cancel: async () => {},
  [Symbol.asyncDispose]: async () => {},
};

const client = await openTaskClient({ journal, minPollMs: 1 });
const server = await client.connect('parent', { remote: () => remote });
await tell({ method: 'opened' });
if (makesCall === 'true') {
  const call = await server.callTool({ name: 'pay' });
  await tell({ method: 'intended', id: call.id });
}
// Started again it goes on with what it finds; a call of its own comes last and shows that nothing more is in the inbox.
let marker: string | undefined;
if (makesCall === 'false') {
  for (const { id } of (await client.resume()).following) await (await client.call(id)).result().catch(() => {});
  marker = (await server.callTool({ name: 'marker' })).id;
}
for await (const completion of client.inbox()) {
  if (completion.id === marker) break;
  await tell({ method: 'delivered', id: completion.id, end: completion.end.kind });
  await completion.acknowledge();
  await tell({ method: 'acknowledged', id: completion.id });
  if (marker === undefined) break;
}
await client.close();
process.disconnect();
