import type { Principal, TaskId } from '../../src/core/index.ts';
import { createTasks, type Tasks } from '../../src/engine/index.ts';
import type { TaskStore } from '../../src/store/index.ts';
import { encodeCursor } from '../../src/store/sql/cursor.ts';
import { ManualClock } from '../../src/testing/index.ts';
import * as v25 from '../../src/wire/rev2025-11-25/index.ts';
import * as v26 from '../../src/wire/rev2026-07-28/index.ts';
import { Seal } from '../../src/wire/seal.ts';
import { Chance } from '../sim/chance.ts';
import { recordingLogger } from '../support/engine.ts';
import { interceptedStore } from '../support/intercepted-store.ts';
import type { Json } from '../support/messages.ts';
import { createWireValidator, type WireValidator } from '../support/wire-validator.ts';
import { type CastName, cast, type Owner, owners, principalOf } from './cast.ts';
import type { Census } from './census.ts';
import type { Plant } from './plants.ts';
import type { Who } from './steps.ts';
import type { Served, Target } from './targets.ts';
import { fill } from './templates.ts';
import { registerTools } from './tools.ts';
import { passing, realTime, turns } from './turns.ts';
import type { Uuids } from './uuids.ts';
import { type SessionName, sessions } from './wires.ts';

const DAY = 24 * 3_600_000;

export interface WorldParts {
  target: Target;
  chance: Chance;
  census: Census;
  uuids: Uuids;
  plant?: Plant | undefined;
}

/** A server with tasks of several owners in every state, on a clock that is moved by hand. */
export class World {
  readonly clock = new ManualClock();
  readonly tasks: Tasks;
  served!: Served;
  readonly validator: WireValidator;
  readonly log = recordingLogger();
  readonly census: Census;
  readonly target: Target;
  /** Calls of the store since it was emptied. */
  readonly calls: string[] = [];
  /** Questions that the server has sent, the latest first. */
  readonly asked: string[] = [];
  /** Handles that the server has given out, the latest first. */
  readonly made: TaskId[] = [];
  readonly #uuids: Uuids;
  readonly #chance: Chance;
  readonly #cast = new Map<string, TaskId>();
  readonly #unknown = new Map<string, TaskId>();
  readonly #sessions = new Map<string, string>();
  #seal: Seal | undefined;

  private constructor({ target, chance, census, uuids, plant }: WorldParts) {
    this.target = target;
    this.validator = createWireValidator({
      firstDraft: target.firstDraft === true,
      envelopedHandshake: 'accept',
    });
    this.census = census;
    this.#uuids = uuids;
    this.#chance = chance.fork();
    census.clear();
    uuids.from(chance.fork());
    const store = interceptedStore((method, call) => {
      this.calls.push(String(method));
      return call();
    });
    this.tasks = createTasks({
      store: plant?.store === undefined ? store : planted(store, plant.store),
      logger: this.log.logger,
      clock: this.clock,
      random: chance.fork(),
      drainMs: 0,
      stopGraceMs: 1_000,
      holdInputMs: 1_000,
      leaseMs: 600_000,
      sweepMs: 20_000,
      ttlMs: 20 * DAY,
    });
    registerTools(this.tasks);
  }

  static async open(parts: WorldParts): Promise<World> {
    const world = new World(parts);
    if (parts.target.serve === undefined) throw new Error(`${parts.target.name} is a process of its own`);
    const served = await parts.target.serve(world.tasks);
    world.served = parts.plant?.serve === undefined ? served : parts.plant.serve(served, world);
    await world.#populate();
    return world;
  }

  taskOf(owner: Owner, name: CastName): TaskId {
    const taskId = this.#cast.get(`${owner} ${name}`);
    if (taskId === undefined) throw new Error(`${owner} has no task "${name}"`);
    return taskId;
  }

  /** Ids of all tasks there were at the beginning. */
  get everyTask(): TaskId[] {
    return [...this.#cast.values()];
  }

  principal(owner: Owner): Principal {
    return principalOf(owner, this.target);
  }

  /** Everything that is ready to happen happens, and the clock stands still. */
  async quiet(): Promise<void> {
    if (this.served.port === undefined) await turns(30);
    else await realTime(15);
  }

  /** The same, for as long as something that is wanted has not come. */
  async wait(enough: () => boolean): Promise<void> {
    if (this.served.port === undefined) await turns(40, enough);
    else await realTime(60, enough);
  }

  /** @param extra what only this message knows of */
  async fill(template: string, extra: Record<string, string> = {}): Promise<string> {
    for (const [, who = '', name = ''] of template.matchAll(/\{\{session (\w+) (\w+)\}\}/g)) {
      if (name in sessions) await this.#session(who as Who, name as SessionName);
    }
    return fill(template, (words) => (Object.hasOwn(extra, words) ? extra[words] : this.#resolve(words)));
  }

  /** What was never issued, with the form of what was: the longest part that only we can make is made up. */
  unknownLike(issued: string): string {
    const [, prefix = '', random = ''] = /^(tsk_|lc-task\.|lc-)?(.*)$/s.exec(issued) ?? [];
    return prefix + this.#madeUp(Buffer.from(random, 'base64url').byteLength);
  }

  /** Whatever is done, the ids that Node makes are the same as in any other call with this number. */
  async withUuids<Result>(number: number, action: () => Promise<Result>): Promise<Result> {
    const before = this.#uuids.from(new Chance(number, 3));
    try {
      return await action();
    } finally {
      this.#uuids.from(before);
    }
  }

  async #populate(): Promise<void> {
    this.#seal = new Seal(await this.tasks.engine.secret());
    await this.#session(this.target.speakers[0] ?? 'local', 'tasks'); // The server looks at its secret once, whoever comes first.
    for (const owner of owners) {
      for (const { name, tool, revision } of cast) {
        const registered = this.tasks.tools.find((candidate) => candidate.name === tool);
        if (registered === undefined) throw new Error(`no tool ${tool}`);
        const { task } = await this.tasks.engine.create({
          definition: registered.definition,
          principal: this.principal(owner),
          input: tool === 'echo' ? { value: name } : {},
          revision,
          abilities: { form: true, url: true, sampling: true, roots: true },
        });
        this.#cast.set(`${owner} ${name}`, task.taskId);
      }
    }
    await turns(10);
    await passing(this.clock, 2_000); // Those that ask are put away.
    for (const owner of owners) {
      const principal = this.principal(owner);
      await this.tasks.engine.cancel(this.taskOf(owner, 'cancelled'), principal, 'no more');
      await this.tasks.engine.delete(this.taskOf(owner, 'gone'), principal);
    }
    await this.quiet();
  }

  #madeUp(size: number): string {
    return Buffer.from(this.#chance.bytes(size)).toString('base64url');
  }

  #resolve(words: string): string | undefined {
    const [kind, ...rest] = words.split(' ');
    const [owner = '', ...others] = rest;
    const name = others.join(' ');
    switch (kind) {
      case 'task':
        return this.#cast.get(rest.join(' '));
      case 'unknown': {
        const taskId = this.#unknown.get(owner) ?? `tsk_${this.#madeUp(18)}`;
        this.#unknown.set(owner, taskId);
        return taskId;
      }
      case 'made':
        return this.made[Number(owner)] ?? 'tsk_none';
      case 'asked':
        return this.asked[Number(owner)] ?? 'lc-none';
      case 'session':
        return this.#sessions.get(`${owner} ${name}`);
      default:
        return owners.includes(owner as Owner) ? this.#token(kind, owner as Owner, name) : undefined;
    }
  }

  /** As the server itself makes them. */
  #token(kind: string | undefined, owner: Owner, name: string): string | undefined {
    const seal = this.#seal as Seal;
    const principal = this.principal(owner);
    switch (kind) {
      case 'cursor':
        return v25.encodeCursor(
          encodeCursor({ at: this.clock.now(), id: this.taskOf(owner, 'slow') }),
          principal,
          seal,
        );
      case 'state': {
        const taskId = this.#cast.get(`${owner} ${name}`);
        if (taskId === undefined) return undefined;
        return String(v26.encodeInputRequired(taskId, new Map(), principal, seal)['requestState']);
      }
      case 'question': {
        const [, task = '', key = ''] = /^(.+) (\S+)$/.exec(name) ?? [];
        const taskId = this.#cast.get(`${owner} ${task}`);
        return taskId === undefined ? undefined : v25.encodeQuestionId(taskId, key, principal, seal);
      }
      default:
        return undefined;
    }
  }

  async #session(who: Who, name: SessionName): Promise<void> {
    if (this.#sessions.has(`${who} ${name}`)) return;
    const { version, capabilities } = sessions[name];
    const params = { protocolVersion: version, capabilities, clientInfo: { name: 'a fuzzer', version: '1.0.0' } };
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 'begin', method: 'initialize', params } satisfies Json),
    };
    const fetch = this.validator.wrapFetch((request: Request) => this.served.fetch(request, who));
    const response = await fetch(new Request('http://127.0.0.1/mcp', init));
    await response.text();
    this.#sessions.set(`${who} ${name}`, response.headers.get('mcp-session-id') ?? 'none');
  }
}

function planted(backend: ReturnType<typeof interceptedStore>, plant: (store: TaskStore) => TaskStore) {
  return {
    async open(environment: Parameters<typeof backend.open>[0]) {
      const { store, dispatcher } = await backend.open(environment);
      return { store: plant(store), dispatcher };
    },
  };
}
