import { join } from 'node:path';
import { z } from 'zod';
import { mcpTool } from '../../src/adapters/index.ts';
import { openTaskClient } from '../../src/client/index.ts';
import type { Answer, Clock, JsonObject } from '../../src/core/index.ts';
import { createTasks, type TaskContext, type Tasks, text } from '../../src/engine/index.ts';
import { createTaskServer, type TaskServer } from '../../src/server/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import type { AdapterHarness, AdapterSystem, Burst } from '../../src/testing/index.ts';
import { deferred } from '../support/engine.ts';
import { scratchFolder, silent } from '../support/stores.ts';
import { createWireValidator, type WireValidator } from '../support/wire-validator.ts';

type Order =
  | { do: 'finish' | 'fail'; text: string }
  | { do: 'log'; lines: readonly string[] }
  | { do: 'ask'; message: string };

/** One task of the server behind: what it was told to do, and how far it got with that. */
interface Work {
  name: string;
  taskId: string;
  orders: Order[];
  logged: number;
  answers: Answer[];
  ordered: () => void;
}

interface Trouble {
  kind: Burst['on'];
  left: number;
  instead: (served: () => Promise<Response>) => Promise<Response>;
  at: number[];
}

const KINDS: Record<string, Burst['on']> = { 'tools/call': 'start', 'tasks/get': 'poll' };

/** A server behind with tasks of its own, of a protocol's generation, and a network in front of it that can be made to fail. */
export function mcpHarness(protocol: string): AdapterHarness<JsonObject, string> {
  return {
    open({ clock }) {
      const behind: AdapterSystem<JsonObject, string> = new ServerBehind(protocol, clock);
      return protocol < '2025-11-25' ? withoutTasks(behind) : behind;
    },
  };
}

/**
 * What there is to see of a job without tasks: a call that is answered late. It has no log, asks nothing that is known by a key, and
 * one that another process made cannot be called off for certain.
 */
function withoutTasks(behind: AdapterSystem<JsonObject, string>): AdapterSystem<JsonObject, string> {
  const { unknownRef } = behind;
  return {
    unknownRef,
    enter: (process) => behind.enter(process),
    args: (name) => behind.args(name),
    started: (name) => behind.started(name),
    finish: (name, said) => behind.finish(name, said),
    fail: (name, said) => behind.fail?.(name, said),
    dropStartAnswer: () => behind.dropStartAnswer?.(),
    refuseStart: () => behind.refuseStart?.(),
    close: () => behind.close?.(),
  };
}

class ServerBehind implements AdapterSystem<JsonObject, string> {
  readonly unknownRef = `call_${'x'.repeat(24)}`;
  readonly asksAnew: boolean;
  readonly #protocol: string;
  readonly #folder = scratchFolder();
  readonly #validator: WireValidator = createWireValidator();
  readonly #work: Work[] = [];
  readonly #tasks: Tasks;
  readonly #server: TaskServer;
  readonly #troubles: Trouble[] = [];
  readonly #clock: Clock;

  constructor(protocol: string, clock: Clock) {
    this.#protocol = protocol;
    this.asksAnew = protocol < '2026-07-28'; // Questions are requests there, and have no keys.
    this.#clock = clock;
    this.#tasks = createTasks({
      store: sqliteStore(':memory:'),
      clock,
      logger: silent,
      drainMs: 0,
      stopGraceMs: 0,
    });
    const config = { inputSchema: z.object({ name: z.string() }), task: { onWorkerLost: 'rerun' } } as const;
    this.#tasks.registerTool('work', config, ({ name }, task) => this.#run(name, task));
    this.#server = createTaskServer(this.#tasks, { name: 'behind', version: '1' });
  }

  async enter({ tasks, clock }: { tasks: Tasks; clock: Clock }) {
    let alive = true;
    const fetch = (url: string | URL, init?: RequestInit): Promise<Response> =>
      alive ? this.#fetch(new Request(url, init)) : new Promise(() => {});
    const journal = join(this.#folder.path, 'calls.db');
    const client = await openTaskClient({ journal, clock, tasks, logger: silent });
    const where = { url: 'http://127.0.0.1/mcp', http: { fetch }, protocol: this.#protocol };
    const server = await client.connect('behind', where);
    return {
      adapter: mcpTool({ server: () => server, tool: 'work' }),
      async end() {
        alive = false;
        await client.close();
      },
    };
  }

  args(name: string): JsonObject {
    return { name };
  }

  started(name: string): number {
    return this.#of(name).length;
  }

  finish(name: string, said: string): void {
    this.#order(name, { do: 'finish', text: said });
  }

  fail(name: string, said: string): void {
    this.#order(name, { do: 'fail', text: said });
  }

  async cancel(name: string): Promise<void> {
    await this.#tasks.inspect.cancel(this.#last(name).taskId);
  }

  async vanish(name: string): Promise<void> {
    await this.#tasks.inspect.remove(this.#last(name).taskId);
  }

  async stopped(name: string): Promise<boolean> {
    const tasks = this.#of(name).map(({ taskId }) => this.#tasks.engine.statusOf(taskId));
    return (await Promise.all(tasks)).includes('cancelled');
  }

  log(name: string, lines: readonly string[]): void {
    this.#order(name, { do: 'log', lines });
  }

  ask(name: string, { message }: { message: string }): void {
    this.#order(name, { do: 'ask', message });
  }

  answers(name: string): readonly Answer[] {
    return this.#last(name).answers;
  }

  dropStartAnswer(): void {
    this.#trouble('start', 1, async (served) => {
      await (await served()).text();
      throw networkError('ECONNRESET');
    });
  }

  refuseStart(): void {
    this.#trouble('start', 1, async () => {
      throw networkError('ECONNREFUSED');
    });
  }

  burst({ on, status, times, retryAfterMs }: Burst): { at: readonly number[] } {
    const headers = retryAfterMs === undefined ? {} : { 'retry-after': String(retryAfterMs / 1_000) };
    return this.#trouble(on, times, async () => new Response('in trouble', { status, headers }));
  }

  async close(): Promise<void> {
    await this.#server.close();
    this.#folder.remove();
    this.#validator.assertClean();
  }

  #of(name: string): Work[] {
    return this.#work.filter((work) => work.name === name);
  }

  #last(name: string): Work {
    const work = this.#of(name).at(-1);
    if (work === undefined) throw new Error(`no work called ${name}`);
    return work;
  }

  #order(name: string, order: Order): void {
    const work = this.#last(name);
    work.orders.push(order);
    work.ordered();
  }

  /** Starts again from the beginning wherever it was put away: orders that it carried out are not carried out again. */
  async #run(name: string, task: TaskContext) {
    let work = this.#work.find(({ taskId }) => taskId === task.id);
    if (work === undefined) {
      work = { name, taskId: task.id, orders: [], logged: 0, answers: [], ordered: () => {} };
      this.#work.push(work);
    }
    for (let at = 0; ; at += 1) {
      while (work.orders.length <= at) {
        const ordered = deferred();
        work.ordered = ordered.resolve;
        await ordered.promise;
      }
      const order = work.orders[at] as Order;
      if (order.do === 'finish') return text(order.text);
      if (order.do === 'fail') return { ...text(order.text), isError: true };
      if (order.do === 'ask') {
        const schema = z.object({ ok: z.boolean() });
        const { action, ...given } = await task.ask('go', { message: order.message, schema });
        work.answers = [{ action, ...given } as Answer];
      }
      if (order.do === 'log' && work.logged <= at) {
        for (const line of order.lines) task.log(line);
        work.logged = at + 1;
      }
    }
  }

  #trouble(kind: Trouble['kind'], left: number, instead: Trouble['instead']): { at: readonly number[] } {
    const trouble: Trouble = { kind, left, instead, at: [] };
    this.#troubles.push(trouble);
    return trouble;
  }

  async #fetch(request: Request): Promise<Response> {
    const served = (): Promise<Response> =>
      this.#validator.wrapFetch((one: Request) => this.#server.fetch(one))(request);
    if (request.method !== 'POST') return served();
    const { method } = (await request.clone().json()) as { method?: string };
    const trouble = this.#troubles.find(({ kind }) => kind === KINDS[method ?? '']);
    trouble?.at.push(this.#clock.monotonic());
    if (trouble === undefined || trouble.left === 0) return served();
    trouble.left -= 1;
    return trouble.instead(served);
  }
}

/** As `fetch` fails. */
function networkError(code: string): Error {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });
}
