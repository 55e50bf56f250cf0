import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import {
  type Clock,
  type Logger,
  type SqliteStoreOptions,
  type StoreEnvironment,
  sqliteStore,
  type TaskId,
  type TaskStore,
} from 'longcall';
import { turns, type Work } from './work.ts';

type Lease = Parameters<TaskStore['finish']>[0];

const DAY = 24 * 3_600_000;
const IN_FLIGHT = 32;
const workerId = 'bench:1';
export const principal = { subject: 'bench' };
const input = { words: 'i'.repeat(400) };
const result = { content: [{ type: 'text', text: 'r'.repeat(850) }] };

const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, callback) {
    const handle = setTimeout(callback, delayMs).unref();
    return { cancel: () => clearTimeout(handle) };
  },
};
const silent = () => {};
const logger: Logger = { debug: silent, info: silent, warn: silent, error: silent };
const environment: StoreEnvironment = { clock, logger, random: { bytes: (size) => randomBytes(size) } };

/** A SQLite store in `folder` as the engine opens it; its default is `synchronous=FULL`. */
export async function openStore(folder: string, options: SqliteStoreOptions = {}): Promise<TaskStore> {
  const { store } = await sqliteStore(join(folder, 'tasks.db'), options).open(environment);
  return store;
}

/** Takes `count` tasks, or as many as `maxMs` allow, from creation to a result that was read; 32 at a time. */
export async function lifecycles(store: TaskStore, count: number, maxMs: number): Promise<Work> {
  const all = turns(count, maxMs);
  let done = 0;
  const oneByOne = async () => {
    for (const _ of all) {
      await lifecycle(store);
      done += 1;
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, oneByOne));
  return { done, seconds: (performance.now() - startedAt) / 1_000 };
}

/** Input of 0.4 kB, result of 0.9 kB; every call is one that a server or a worker makes for each task. */
export async function lifecycle(store: TaskStore): Promise<TaskId> {
  const lease = await leased(store);
  const applied = await store.finish(lease, { status: 'completed', result });
  const record = await store.get(lease.taskId, principal);
  if (applied !== 'applied' || record?.state.status !== 'completed') throw new Error('a task did not end as it should');
  return lease.taskId;
}

/** A task that asked something and was put away until somebody answers. */
export async function parked(store: TaskStore): Promise<TaskId> {
  const lease = await leased(store);
  const schema = { type: 'object', properties: { word: { type: 'string' } } };
  await store.ask(lease, 'word', { kind: 'form', message: 'Which word?', schema });
  if ((await store.release(lease, { to: 'parked' }, 0)) !== 'applied') throw new Error('a task was not put away');
  return lease.taskId;
}

async function leased(store: TaskStore): Promise<Lease> {
  const taskId = `tsk_${randomBytes(18).toString('base64url')}`;
  await store.create({
    taskId,
    principal,
    method: 'tools/call',
    name: 'echo',
    input,
    ttlMs: 7 * DAY,
    keepResultMs: DAY,
    maxAttempts: 3,
    onWorkerLost: 'resume',
    revision: '2026-07-28',
    abilities: { form: true },
    originRequestId: '1',
  });
  const [claimed] = await store.claim([taskId], { workerId, leaseMs: 30_000 });
  if (claimed === undefined) throw new Error('a task that was just created could not be claimed');
  return claimed.lease;
}
