// Asks a server the same directly and through something in front of it, and tells where the answers differ.
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../support/messages.ts';
import type { Answer, ClientKind, Peer, Reach } from './clients.ts';

/** One question. Those of a table are asked in turn: later ones may see what earlier ones did. */
export type Step =
  | { call: string; args: Json; needsTasks?: boolean }
  | { read: string }
  | { prompt: string; args?: Record<string, string> }
  | { complete: Json; argument: { name: string; value: string }; context?: Json };

/** What may differ, and nothing else: a change that is made to both answers before they are compared. */
export interface Normalisation {
  name: string;
  /** Why it has to differ. */
  why: string;
  apply(answer: unknown, side: Side): unknown;
}

/** One of the two ways, with a folder of its own that holds the same as the other's. */
export interface Side {
  reach: Reach;
  folder: string;
  /** Put before the names of tools and prompts. */
  prefix?: string;
}

export interface Difference {
  /** What was asked. */
  what: string;
  /** Where in the answer. */
  at: string;
  direct: unknown;
  through: unknown;
}

export interface Compared {
  differences: Difference[];
  /** How many answers were compared. */
  answers: number;
  /** Tools that no step calls. */
  uncalled: string[];
  /** How many calls became tasks, on the way through. */
  tasks: number;
}

export interface Comparison {
  kind: ClientKind;
  direct: Side;
  through: Side;
  /** What is asked in a folder; as many steps for each. */
  steps: (folder: string) => readonly Step[];
  normalisations: readonly Normalisation[];
  /**
   * Who is asked directly what the server does only for clients with tasks, in place of `kind`. Absent where nothing in between
   * serves those who have none.
   */
  withTasks?: ClientKind;
}

const LISTS = [
  ['tools/list', 'tools'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
  ['prompts/list', 'prompts'],
] as const;

export async function compare(comparison: Comparison): Promise<Compared> {
  const { kind, direct, through, steps, normalisations, withTasks } = comparison;
  const compared: Compared = { differences: [], answers: 0, uncalled: [], tasks: 0 };
  const peers = {
    direct: await kind.connect(direct.reach, direct.folder),
    through: await kind.connect(through.reach, through.folder),
  };
  let tasking: Peer | undefined;
  const settle = (what: string, one: unknown, other: unknown): void => {
    const normal = (answer: unknown, side: Side): unknown =>
      normalisations.reduce((value, { apply }) => apply(value, side), answer);
    compared.answers += 1;
    for (const found of differing(normal(one, direct), normal(other, through), '')) {
      compared.differences.push({ what, ...found });
    }
  };
  try {
    settle('instructions', peers.direct.instructions(), peers.through.instructions());
    for (const [method, member] of LISTS) {
      const [one, other] = await Promise.all([list(peers.direct, method, member), list(peers.through, method, member)]);
      settle(method, one, unprefixed(other, method, through.prefix ?? ''));
      if (method === 'tools/list') compared.uncalled = uncalled(one, steps(direct.folder));
    }
    const theirs = steps(through.folder);
    for (const [index, step] of steps(direct.folder).entries()) {
      const same = theirs[index] as Step; // But for the folder that it names.
      let asked = peers.direct;
      if ('call' in step && step.needsTasks === true && withTasks !== undefined && kind !== withTasks) {
        tasking ??= await withTasks.connect(direct.reach, direct.folder);
        asked = tasking;
      }
      const answers = [ask(asked, step, ''), ask(peers.through, same, through.prefix ?? '')] as const;
      settle(describe(step), ...(await Promise.all(answers)));
    }
    compared.tasks = peers.through.tasks;
    return compared;
  } finally {
    await Promise.all([peers.direct.close(), peers.through.close(), tasking?.close()]);
  }
}

/** The smallest parts of two answers that are not the same. */
function differing(direct: unknown, through: unknown, at: string): Omit<Difference, 'what'>[] {
  if (isDeepStrictEqual(direct, through)) return [];
  const both = [direct, through];
  const comparable = both.every((one) => typeof one === 'object' && one !== null);
  const lists = both.map((one) => Array.isArray(one));
  if (!comparable || lists[0] !== lists[1]) return [{ at, direct, through }];
  const names = new Set(both.flatMap((one) => Object.keys(one as Json)));
  return [...names].flatMap((name) => differing((direct as Json)[name], (through as Json)[name], `${at}/${name}`));
}

/** All pages of a list; an error where the server has no such list. */
async function list(peer: Peer, method: string, member: string): Promise<Json[] | Answer> {
  const found: Json[] = [];
  let cursor: unknown;
  do {
    const answer = await peer.request(method, cursor === undefined ? {} : { cursor });
    if ('error' in answer) return answer;
    found.push(...(answer.result[member] as Json[]));
    cursor = answer.result['nextCursor'];
  } while (cursor !== undefined);
  return found;
}

function unprefixed(items: Json[] | Answer, method: string, prefix: string): Json[] | Answer {
  if (!Array.isArray(items) || !/^(tools|prompts)/.test(method)) return items;
  return items.map((item) => ({ ...item, name: String(item['name']).replace(prefix, '') }));
}

function uncalled(tools: Json[] | Answer, steps: readonly Step[]): string[] {
  const called = new Set(steps.map((step) => ('call' in step ? step.call : undefined)));
  return Array.isArray(tools) ? tools.map(({ name }) => String(name)).filter((name) => !called.has(name)) : [];
}

function ask(peer: Peer, step: Step, prefix: string): Promise<Answer> {
  if ('call' in step) return peer.call(`${prefix}${step.call}`, step.args);
  if ('read' in step) return peer.request('resources/read', { uri: step.read });
  if ('prompt' in step) {
    return peer.request('prompts/get', { name: `${prefix}${step.prompt}`, arguments: step.args ?? {} });
  }
  const { complete, argument, context } = step;
  const ref = complete['type'] === 'ref/prompt' ? { ...complete, name: `${prefix}${complete['name']}` } : complete;
  return peer.request('completion/complete', { ref, argument, ...(context && { context }) });
}

function describe(step: Step): string {
  return JSON.stringify(step).slice(0, 160);
}
