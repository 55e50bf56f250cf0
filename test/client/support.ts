import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  type Completion,
  type ConnectedServer,
  type OnQuestion,
  openTaskClient,
  type TaskClient,
  type TaskClientOptions,
} from '../../src/client/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { scratchFolder } from '../support/stores.ts';
import { ScriptedRemote } from './scripted-remote.ts';

export interface Stage {
  clock: ManualClock;
  client: TaskClient;
  remote: ScriptedRemote;
  server: ConnectedServer;
}

/** A journal file that is removed after the test. */
export function journalFile(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return join(folder.path, 'host.db');
}

/** A client on a clock that stands still, connected to one scripted server named `ci`. */
export async function stage(
  options: Partial<TaskClientOptions> & {
    prepare?: (remote: ScriptedRemote) => void;
    on?: ScriptedRemote;
    onQuestion?: OnQuestion;
  } = {},
): Promise<Stage> {
  const { prepare, on, onQuestion, ...own } = options;
  const clock = (own.clock as ManualClock | undefined) ?? new ManualClock();
  const client = await openTaskClient({ journal: ':memory:', ...own, clock });
  onTestFinished(() => client.close());
  const remote = on ?? new ScriptedRemote(clock);
  prepare?.(remote);
  const server = await client.connect('ci', { remote: () => remote, ...(onQuestion && { onQuestion }) });
  return { clock, client, remote, server };
}

/** Lets time go by in small steps, and everything that falls due happen in between. */
export async function pass(clock: ManualClock, ms: number, stepMs = 100): Promise<void> {
  await settled();
  for (let left = ms; left > 0; left -= stepMs) {
    clock.advance(Math.min(stepMs, left));
    await settled();
  }
}

/** Lets everything happen that waits for no clock: a write to the journal takes a turn of the event loop or two. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 8; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** What is in the inbox right now. */
export async function unread(client: TaskClient): Promise<Completion[]> {
  const stop = new AbortController();
  const found: Completion[] = [];
  const reading = (async () => {
    for await (const completion of client.inbox({ signal: stop.signal })) found.push(completion);
  })();
  await settled();
  stop.abort();
  await reading;
  return found;
}
