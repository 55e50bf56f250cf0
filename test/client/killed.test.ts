import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openTaskClient } from '../../src/client/index.ts';
import { scratchFolder } from '../support/stores.ts';

type Method = 'opened' | 'start' | 'intended' | 'get' | 'delivered' | 'acknowledged';
interface Message {
  number: number;
  method: Method;
  key?: string;
  taskId?: string;
  id?: string;
  end?: string;
}

/** Which message the host dies of, and whether it was carried out, or even answered, by then. */
interface Death {
  at: Method;
  /** Which of them. */
  nth: number;
  when: 'before' | 'carried out' | 'answered';
}

const folder = scratchFolder();
afterAll(folder.remove);
let journals = 0;

/** What outlives every host: a server that makes a task of each call, and what hosts said of their inboxes. */
class World {
  readonly journal = join(folder.path, `${++journals}.db`);
  readonly repeatable: boolean;
  /** How often a tool was run. */
  runs = 0;
  /** What happened, in order, over all hosts. */
  readonly seen: Message[] = [];
  readonly #tasks = new Map<string, { polls: number }>();
  readonly #keys = new Map<string, string>();

  constructor(repeatable: boolean) {
    this.repeatable = repeatable;
  }

  /** Runs a host to its end, or to its death. */
  async host({ makesCall, death }: { makesCall: boolean; death?: Death }): Promise<'ended' | 'killed'> {
    const args = ['--import', 'tsx', join(import.meta.dirname, 'host-process.ts'), this.journal];
    const host = spawn(process.execPath, [...args, String(this.repeatable), String(makesCall)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    let left = death?.nth ?? 0;
    host.on('message', (message: Message) => {
      if (host.killed) return; // It was on its way when the host died.
      const dies = message.method === death?.at && --left === 0;
      if (dies && death?.when === 'before') return void host.kill('SIGKILL');
      const answer = this.#carryOut(message);
      if (dies && death?.when === 'carried out') return void host.kill('SIGKILL');
      if (!dies) return void host.send({ number: message.number, ...answer });
      host.send({ number: message.number, ...answer }, () => host.kill('SIGKILL'));
    });
    return ended(host);
  }

  count(method: Method): number {
    return this.seen.filter((message) => message.method === method).length;
  }

  #carryOut(message: Message): { value?: unknown; gone?: boolean } {
    this.seen.push(message);
    if (message.method === 'start')
      return { value: { kind: 'task', task: this.#task(this.#started(message.key as string)) } };
    if (message.method !== 'get') return {};
    const task = this.#tasks.get(message.taskId as string);
    if (task === undefined) return { gone: true };
    task.polls += 1;
    return { value: this.#task(message.taskId as string) };
  }

  #started(key: string): string {
    const known = this.repeatable ? this.#keys.get(key) : undefined;
    if (known !== undefined) return known;
    this.runs += 1;
    const taskId = `task-${this.runs}`;
    this.#keys.set(key, taskId);
    this.#tasks.set(taskId, { polls: 0 });
    return taskId;
  }

  #task(taskId: string): object {
    const over = (this.#tasks.get(taskId)?.polls ?? 0) >= 2;
    const outcome = { status: 'completed', result: { content: [{ type: 'text', text: 'paid' }] } };
    return { taskId, pollIntervalMs: 5, status: over ? 'completed' : 'working', ...(over && { outcome }) };
  }
}

async function ended(host: ChildProcess): Promise<'ended' | 'killed'> {
  const [code, signal] = (await once(host, 'exit')) as [number | null, string | null];
  if (signal === 'SIGKILL') return 'killed';
  if (code !== 0) throw new Error(`the host ended with ${code ?? signal}`);
  return 'ended';
}

const deaths: Death[] = [
  { at: 'opened', nth: 1, when: 'before' },
  { at: 'start', nth: 1, when: 'before' },
  { at: 'start', nth: 1, when: 'carried out' },
  { at: 'start', nth: 1, when: 'answered' },
  { at: 'intended', nth: 1, when: 'before' },
  { at: 'get', nth: 1, when: 'before' },
  { at: 'get', nth: 1, when: 'answered' },
  { at: 'get', nth: 2, when: 'before' },
  { at: 'get', nth: 2, when: 'carried out' },
  { at: 'get', nth: 2, when: 'answered' },
  { at: 'delivered', nth: 1, when: 'before' },
  { at: 'delivered', nth: 1, when: 'answered' },
  { at: 'acknowledged', nth: 1, when: 'before' },
  { at: 'acknowledged', nth: 1, when: 'answered' },
];
const cases = [
  ...deaths.map((death) => ({ ...death, repeatable: true })),
  ...deaths.filter(({ at }) => at === 'start' || at === 'intended').map((death) => ({ ...death, repeatable: false })),
];

// Three processes one after the other for each case.
describe.concurrent('a host that is killed', { timeout: 120_000 }, () => {
  it.each(cases)(
    'at $at $nth, $when, keys honoured: $repeatable: no tool runs twice, no completion is lost, none comes again [C-039] [C-099]',
    async ({ repeatable, ...death }) => {
      const world = new World(repeatable);
      expect(await world.host({ makesCall: true, death })).toBe('killed');
      const acknowledged = world.seen.find(({ method }) => method === 'acknowledged')?.id;
      const deliveredBefore = world.count('delivered');

      expect(await world.host({ makesCall: false })).toBe('ended');
      expect(world.runs).toBeLessThanOrEqual(1);
      const deliveries = world.seen.filter(({ method }) => method === 'delivered');
      if (acknowledged !== undefined || death.at === 'acknowledged') {
        expect(deliveries.length).toBe(deliveredBefore); // None again.
      } else if (death.at === 'opened') {
        expect(deliveries).toEqual([]); // It died before it wanted anything.
      } else {
        expect(deliveries.length).toBeGreaterThanOrEqual(1); // It may have been taken in just before the end.
        const known = repeatable || world.count('get') > 0;
        expect(deliveries.at(-1)?.end).toBe(known ? 'completed' : 'unknown');
        expect(new Set(deliveries.map(({ id }) => id)).size).toBe(1);
        if (repeatable) expect(world.runs).toBe(1);
      }

      // Whatever happened: with the third start nothing is open, and nothing is told again.
      const client = await openTaskClient({ journal: world.journal });
      try {
        const { following, waiting } = await client.resume();
        expect([...following, ...waiting]).toEqual([]);
        const completion = (await client.inbox().next()).value;
        expect(completion?.tool).toBe('marker');
      } finally {
        await client.close();
      }
    },
  );
});
