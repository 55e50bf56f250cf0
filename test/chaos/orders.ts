// What is asked of the fleet in one round, chosen by the seed before it begins.

import type { Chance } from '../sim/chance.ts';
import type { Json } from '../support/messages.ts';
import type { ToolName } from './tools.ts';

/** How one question is answered. */
export interface AnswerPlan {
  /** After it was first seen open, in milliseconds; undefined: not in this round. */
  afterMs: number | undefined;
  /** A second answer, which must not count if the first did. */
  twice: 'never' | 'at once' | 'later';
}

export interface Order {
  tool: ToolName;
  args: Json;
  /** Over HTTP to whichever process listens, or through a front of the driver's own. */
  via: 'http' | 'direct';
  /** In the round, in milliseconds. */
  atMs: number;
  /** After it was created, in milliseconds. */
  cancelAfterMs?: number;
  /** By key of the question. */
  answers: Record<string, AnswerPlan>;
}

const weights: readonly (readonly [ToolName, number])[] = [
  ['steps', 20],
  ['job', 8],
  ['ask', 14],
  ['both', 10],
  ['nap', 8],
  ['once', 12],
  ['guarded', 8],
  ['look', 10],
  ['flaky', 6],
  ['hopeless', 4],
];

/** Questions that each tool asks. */
const questions: Partial<Record<ToolName, readonly string[]>> = {
  ask: ['word'],
  guarded: ['word'],
  both: ['left', 'right'],
};

export function ordersFor(chance: Chance, count: number, withinMs: number, poison: boolean): Order[] {
  const orders = Array.from({ length: count }, () => order(chance, chance.weighted(weights) ?? 'steps', withinMs));
  if (poison) orders.push(order(chance, 'poison', withinMs));
  return orders;
}

function order(chance: Chance, tool: ToolName, withinMs: number): Order {
  const answers = (questions[tool] ?? []).map((key) => [key, answerPlan(chance)] as const);
  const args = argsFor(chance, tool);
  return {
    tool,
    args,
    via: chance.odds(0.5) ? 'http' : 'direct',
    atMs: chance.int(0, withinMs),
    ...(chance.odds(0.12) && { cancelAfterMs: chance.int(0, 1_200) }),
    // A question with a deadline is left to it: an answer in its last moment may or may not be in time.
    answers: args['withinMs'] === undefined ? Object.fromEntries(answers) : {},
  };
}

function answerPlan(chance: Chance): AnswerPlan {
  return {
    afterMs: chance.odds(0.15) ? undefined : chance.int(0, 900),
    twice: chance.pick(['never', 'never', 'at once', 'later']),
  };
}

function argsFor(chance: Chance, tool: ToolName): Json {
  const ms = chance.int(5, 400);
  switch (tool) {
    case 'steps':
      return { count: chance.int(1, 8), ms: chance.int(5, 300) };
    case 'ask':
      return { ms: chance.int(1, 80), ...(chance.odds(0.2) && { withinMs: chance.int(100, 900) }) };
    case 'nap':
      return { ms: chance.int(1, 50), napMs: chance.int(50, 1_500) };
    case 'guarded':
      return { ms, asks: chance.odds(0.4) };
    case 'flaky':
      return { ms: chance.int(1, 100), failures: chance.int(0, 3) };
    case 'both':
    case 'hopeless':
      return { ms: chance.int(1, 80) };
    case 'poison':
      return {};
    case 'once':
    case 'look':
      return { ms: chance.int(5, 1_200) };
    case 'job':
      return { ms };
  }
}
