import { everyPost } from '../server/peer.ts';
import { Chance } from '../sim/chance.ts';
import type { Json } from '../support/messages.ts';
import { cast, owners } from './cast.ts';
import { mangled, mutated } from './mutations.ts';
import { oddHeaders } from './odd-headers.ts';
import { noiseOf, rawOf } from './raw-plan.ts';
import { type Kind, someAnswer, someMessage } from './requests.ts';
import { type Burst, type Leave, messagesIn, type Send, type Step, type Twin, type Who } from './steps.ts';
import { Subjects } from './subjects.ts';
import type { Target } from './targets.ts';
import { type Node, print, treeOf } from './tree.ts';
import { oddValue } from './values.ts';
import { type SessionName, sessions, type Wire, wires } from './wires.ts';

/** Messages of an episode, at least. */
export const EPISODE = 100;

/** What happens in an episode: of the seed, the number of the episode and the target alone. */
export function plan(seed: number, episode: number, target: Target): Step[] {
  const planner = new Planner(new Chance(seed, episode, 1), target);
  const steps = planner.beginning();
  for (let messages = 0; messages < EPISODE; ) {
    const step = planner.step();
    steps.push(step);
    messages += messagesIn(step);
  }
  return steps;
}

class Planner {
  readonly #chance: Chance;
  readonly #target: Target;
  #sent = 0;

  constructor(chance: Chance, target: Target) {
    this.#chance = chance;
    this.#target = target;
  }

  /** On stdio the first message decides for which revisions the connection is: unless it asks which there are. */
  beginning(): Step[] {
    if (this.#target.serve !== undefined || this.#chance.odds(0.1)) return [];
    const session = sessions[this.#chance.pick(Object.keys(sessions) as SessionName[])];
    const modern = this.#chance.odds(0.5);
    const { version, capabilities } = session;
    const clientInfo = { name: 'a fuzzer', version: '1.0.0' };
    const params = modern ? {} : { protocolVersion: version, capabilities, clientInfo };
    const message = { jsonrpc: '2.0', id: 'begin', method: modern ? 'tools/list' : 'initialize', params };
    const [wire] = wires as [Wire];
    const body = JSON.stringify(modern ? this.#dressed(message, wire) : message);
    return [{ do: 'send', as: 'local', method: 'POST', headers: {}, body }];
  }

  step(): Step {
    const kind = this.#chance.weighted([
      ['send', 64],
      ['twin', 12],
      ['burst', 5],
      ['pass', 6],
      ['leave', 6],
      ['channel', 3],
      ['end', 1],
      ['verb', 1],
      ['raw', this.#target.sockets ? 40 : 0],
      ['noise', this.#target.serve === undefined ? 15 : 0],
    ] as const);
    switch (kind) {
      case 'twin':
        return this.#twin();
      case 'burst':
        return this.#burst();
      case 'pass':
        return { do: 'pass', ms: this.#chance.pick([1, 100, 1_000, 5_000, 20_000, 90_000]) };
      case 'leave':
        return { do: 'leave', which: this.#chance.int(0, 3) } satisfies Leave;
      case 'channel':
        return this.#withoutBody('GET');
      case 'end':
        return this.#withoutBody('DELETE');
      case 'verb':
        return this.#withoutBody(this.#chance.pick(['PUT', 'PATCH', 'OPTIONS', 'HEAD', 'GET', 'DELETE']));
      case 'noise':
        return noiseOf(this.#send(this.#kind(), new Subjects(this.#chance), this.#wrongs()), this.#chance);
      case 'raw':
        return rawOf(this.#send(this.#kind(), new Subjects(this.#chance), this.#wrongs()), this.#chance);
      default:
        return this.#send(this.#kind(), new Subjects(this.#chance), this.#wrongs());
    }
  }

  #kind(): Kind | 'answer' {
    return (
      this.#chance.weighted([
        ['any', 20],
        ['notification', 2],
        ['answer', 4],
      ] as const) ?? 'any'
    );
  }

  /** How many things are wrong with a message. */
  #wrongs(): number {
    return (
      this.#chance.weighted([
        [0, 9],
        [1, 9],
        [2, 4],
        [3, 2],
      ] as const) ?? 0
    );
  }

  #who(): Who {
    return this.#chance.pick(this.#target.speakers);
  }

  #wire(): Wire {
    return this.#chance.weighted(wires.map((wire) => [wire, wire.weight] as const)) as Wire;
  }

  #send(kind: Kind | 'answer', subjects: Subjects, wrongs: number, as = this.#who(), wire = this.#wire()): Send {
    const chance = this.#chance;
    const plain = kind === 'answer' ? someAnswer(subjects) : someMessage(kind, subjects);
    // With one connection for all, requests have ids of their own, or nobody could say what is answered.
    const own = this.#target.serve === undefined && 'method' in plain && 'id' in plain;
    this.#sent += 1;
    const named = own ? { ...plain, id: `q${this.#sent}-{{copy}}` } : plain;
    const message = 'method' in named ? this.#dressed(named, wire, subjects) : named;
    const headers = this.#headers({ ...everyPost, ...wire.headers(message, as) }, wrongs);
    let tree = treeOf(message);
    if (chance.odds(0.3)) replaceArguments(tree, oddValue(chance));
    const send = { do: 'send', as, method: 'POST', headers } as const;
    if (wrongs > 0 && chance.odds(0.15)) return { ...send, ...bytes(mangled(print(tree), chance)) };
    for (let left = wrongs; left > 0; left -= 1) tree = mutated(tree, chance);
    return { ...send, body: print(tree) };
  }

  /** The message as its wire has it, and with what else a client may say. */
  #dressed(message: Json, wire: Wire, subjects = new Subjects(this.#chance)): Json {
    const chance = this.#chance;
    const params = (message['params'] ?? {}) as Json;
    const wanted = message['method'] === 'tools/call' && chance.odds(0.6);
    const task = wanted ? wire.asTask?.(chance) : undefined;
    const _meta = {
      ...wire.meta,
      ...(wanted && wire.taskMeta?.(subjects.task())),
      ...(chance.odds(0.15) && { progressToken: chance.pick([1, 'p', 0, '']) }),
      ...(chance.odds(0.05) && { 'longcall/idempotencyKey': chance.pick(['k1', 'k2', '', '{{repeat k 300}}']) }),
      ...(chance.odds(0.03) && { 'io.modelcontextprotocol/logLevel': 'debug' }),
      ...(chance.odds(0.03) && { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }),
    };
    return { ...message, params: { ...params, ...task, ...(Object.keys(_meta).length > 0 && { _meta }) } };
  }

  #headers(fitting: Record<string, string>, wrongs: number): Record<string, string> {
    const chance = this.#chance;
    if (wrongs === 0 || !chance.odds(0.25)) return fitting;
    const headers = { ...fitting };
    const name = chance.pick([...Object.keys(headers), 'mcp-session-id', 'mcp-name', 'mcp-method', 'last-event-id']);
    if (chance.odds(0.4)) delete headers[name];
    else headers[name] = chance.pick(oddHeaders);
    return headers;
  }

  #withoutBody(method: string): Send {
    const session = this.#chance.pick(Object.keys(sessions) as SessionName[]);
    const as = this.#who();
    const own = this.#chance.odds(0.8) ? as : this.#who();
    const headers = { accept: 'text/event-stream', 'mcp-session-id': `{{session ${own} ${session}}}` };
    return { do: 'send', as, method, headers: this.#headers(headers, 1) };
  }

  #burst(): Burst {
    const subjects = new Subjects(this.#chance);
    // About one and the same task, in answers and cancels above all.
    const task = subjects.task();
    const same = new Subjects(this.#chance, () => task);
    const sends = Array.from({ length: this.#chance.int(2, 6) }, () =>
      this.#send(this.#chance.odds(0.8) ? 'naming' : this.#kind(), same, this.#chance.odds(0.2) ? 1 : 0),
    );
    return { do: 'burst', sends };
  }

  #twin(): Twin {
    const chance = this.#chance;
    const as = this.#who();
    const foreign = this.#foreign(as);
    const twin = { do: 'twin', foreign, ...(chance.odds(0.5) && { unknownFirst: true as const }) } as const;
    if (!foreign.startsWith('{{task')) return { ...twin, send: this.#withToken(as, foreign) };
    const subjects = new Subjects(chance, () => '{{foreign}}');
    const wrongs = chance.pick([0, 0, 0, 1, 2]);
    const send = this.#send('naming', subjects, wrongs, as);
    const touched = chance.odds(0.2) && !foreign.includes(`{{task ${as} `);
    return {
      ...twin,
      send,
      ...(touched && { meanwhile: 'cancel' as const }),
      // Several of one id would be polls too many, whichever it is.
      ...(wrongs === 0 && chance.odds(0.15) && { times: 30 }),
    };
  }

  /** Something that is not the sender's, or is not there any more. */
  #foreign(as: Who): string {
    const chance = this.#chance;
    const others = owners.filter((owner) => owner !== as);
    const owner = chance.pick(others);
    return (
      chance.weighted([
        [`{{task ${owner} ${chance.pick(cast).name}}}`, 12],
        ...(as === 'nobody' ? [] : [[`{{task ${as} gone}}`, 1] as const]),
        // Whoever cannot speak here has no session.
        ...(this.#target.speakers.includes(owner) ? [[`{{session ${owner} tasks}}`, 1] as const] : []),
        [`{{cursor ${owner}}}`, 1],
        [`{{state ${owner} asking}}`, 1],
        [`{{question ${owner} asking before colour}}`, 1],
      ]) ?? ''
    );
  }

  /** A message around a token of somebody else's. */
  #withToken(as: Who, foreign: string): Send {
    const kind = /^\{\{(\w+)/.exec(foreign)?.[1];
    let wire = this.#wire();
    // Where there are no rounds, such a call is a new one, and the second joins what the first has begun.
    while (kind === 'state' && wire.meta === undefined) wire = this.#wire();
    const post = (message: Json, headers: Record<string, string>): Send => ({
      do: 'send',
      as,
      method: 'POST',
      headers: { ...everyPost, ...headers },
      body: JSON.stringify(message),
    });
    const request = (method: string, params: Json): Send => {
      const message = this.#dressed({ jsonrpc: '2.0', id: 1, method, params }, wire);
      return post(message, wire.headers(message, as));
    };
    switch (kind) {
      case 'session': {
        const headers = { 'mcp-session-id': '{{foreign}}', 'mcp-protocol-version': '2025-11-25' };
        const method = this.#chance.pick(['POST', 'GET', 'DELETE']);
        if (method !== 'POST') return { do: 'send', as, method, headers: { accept: 'text/event-stream', ...headers } };
        return post(someMessage('any', new Subjects(this.#chance)), headers);
      }
      case 'cursor':
        return this.#chance.odds(0.5)
          ? request('tasks/list', { cursor: '{{foreign}}' })
          : request('tools/call', { name: 'task_list', arguments: { cursor: '{{foreign}}' } });
      case 'state':
        return request('tools/call', {
          name: 'paint',
          arguments: {},
          requestState: '{{foreign}}',
          inputResponses: { colour: { action: 'decline' } },
        });
      default: {
        const answer = { jsonrpc: '2.0', id: '{{foreign}}', result: { action: 'accept', content: { colour: 'x' } } };
        return post(answer, wire.headers(answer, as));
      }
    }
  }
}

function bytes(text: string): { body: string; binary: true } {
  return { body: text, binary: true };
}

/** In place of `params.arguments.value`, which takes anything. */
function replaceArguments(tree: Node, value: Node): void {
  const member = (node: Node | undefined, name: string): Node | undefined =>
    node?.kind === 'object' ? node.members.find(([own]) => own === name)?.[1] : undefined;
  const args = member(member(tree, 'params'), 'arguments');
  if (args?.kind !== 'object') return;
  const own = args.members.find(([name]) => name === 'value');
  if (own !== undefined) own[1] = value;
}
