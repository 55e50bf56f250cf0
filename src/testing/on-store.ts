import assert from 'node:assert/strict';
import type { Principal, TerminalState } from '../core/index.ts';
import type { ClaimedTask, Dispatcher, TaskStore } from '../store/index.ts';
import { aTask } from './builders.ts';
import { ManualClock } from './manual-clock.ts';
import type { SuiteCase } from './suite.ts';

/** Opens an empty store of the backend under test, on the clock it is given. */
export type OpenStore = (options: { clock: ManualClock }) => Promise<{ store: TaskStore; dispatcher: Dispatcher }>;

export interface Bench {
  store: TaskStore;
  dispatcher: Dispatcher;
  clock: ManualClock;
}

export const ALICE: Principal = { subject: 'alice' };
export const MALLORY: Principal = { subject: 'mallory' };
export const DONE: TerminalState = { status: 'completed', result: { content: [{ type: 'text', text: 'done' }] } };
export const LATE: TerminalState = { status: 'completed', result: { content: [{ type: 'text', text: 'late' }] } };
export const EXPIRED: TerminalState = { status: 'failed', error: { code: -32603, message: 'expired' } };
export const QUESTION = { kind: 'form', message: 'sure?', schema: { type: 'object', properties: {} } } as const;
export const YES = { action: 'accept', content: {} } as const;

/** A case on a store of its own. */
export function onStore(name: string, test: (bench: Bench) => Promise<void>): SuiteCase<OpenStore> {
  return {
    name,
    async run(open) {
      const clock = new ManualClock();
      const { store, dispatcher } = await open({ clock });
      try {
        await test({ store, dispatcher, clock });
      } finally {
        await store.close();
      }
    },
  };
}

export async function claimOne(
  store: TaskStore,
  taskId: string,
  workerId = 'w1',
  leaseMs = 30_000,
): Promise<ClaimedTask> {
  const [claimed] = await store.claim([taskId], { workerId, leaseMs });
  assert.ok(claimed, 'the task could not be claimed');
  return claimed;
}

export async function createAndClaim(
  store: TaskStore,
  overrides: Parameters<typeof aTask>[0] = {},
): Promise<ClaimedTask> {
  const { task } = await store.create(aTask({ principal: ALICE, ...overrides }));
  return claimOne(store, task.taskId);
}
