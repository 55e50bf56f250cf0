import type { ToolTaskOptions } from '../../src/engine/index.ts';
import type { Chance } from './chance.ts';

/** One thing a handler does. Names are plain words, so that a question's key can be told from its name. */
export type Op =
  | { do: 'step'; name: string; throws?: boolean }
  /** Steps that run side by side. */
  | { do: 'steps'; names: string[] }
  | { do: 'ask'; name: string; timeoutMs?: number }
  | { do: 'asks'; names: string[] }
  | { do: 'sleep'; ms: number }
  | { do: 'report' }
  /** Takes a while outside of any step. */
  | { do: 'work' }
  /** Ends the process it runs in, as a poison task does. */
  | { do: 'crash' };

export interface Program {
  tool: ToolName;
  ops: Op[];
  end: 'return' | 'is_error' | 'throw' | 'rpc_error' | 'hang';
  /** Goes on after errors and ignores its signal. */
  stubborn: boolean;
  /** Leaves a step running when it returns. */
  leaks: boolean;
}

/** The tools every process has: one for each way a task can be recovered, expire or be tried again. */
export const TOOLS = {
  auto: {},
  rerun: { onWorkerLost: 'rerun' },
  resume: { onWorkerLost: 'resume', maxAttempts: 2 },
  once: { onWorkerLost: 'fail' },
  brief: { onWorkerLost: 'rerun', ttlMs: 8_000, keepResultMs: 3_000 },
  kept: { ttlMs: 6_000, keepResultMs: 30_000 },
  timed: { onWorkerLost: 'rerun', timeoutMs: 5_000 },
  endless: { onWorkerLost: 'resume', ttlMs: null },
  retried: { onWorkerLost: 'resume', retry: { backoffMs: 400, maxBackoffMs: 2_000 } },
} as const satisfies Record<string, Omit<ToolTaskOptions, 'prepare'>>;

export type ToolName = keyof typeof TOOLS;
export const TOOL_NAMES = Object.keys(TOOLS) as ToolName[];
/** What a tool is given where it says nothing. */
export const TTL_MS = 60_000;
const KEEP_RESULT_MS = 10_000;
const MAX_ATTEMPTS = 3;

export function toolOf(name: ToolName): Omit<ToolTaskOptions, 'prepare'> {
  return { ttlMs: TTL_MS, keepResultMs: KEEP_RESULT_MS, maxAttempts: MAX_ATTEMPTS, ...TOOLS[name] };
}

/** A handler's program, short enough that a run tries many. */
export function someProgram(chance: Chance): Program {
  const ops = Array.from({ length: chance.int(0, 4) }, () => someOp(chance));
  return {
    tool: chance.pick(TOOL_NAMES),
    ops,
    end: chance.weighted([
      ['return', 8],
      ['is_error', 1],
      ['throw', 1.5],
      ['rpc_error', 1],
      ['hang', 1],
    ]) as Program['end'],
    stubborn: chance.odds(0.15),
    leaks: chance.odds(0.1),
  };
}

const WORDS = ['a', 'b', 'c'];

function someOp(chance: Chance): Op {
  const name = (): string => chance.pick(WORDS);
  const kinds: readonly (readonly [Op['do'], number])[] = [
    ['step', 5],
    ['steps', 1],
    ['ask', 3],
    ['asks', 1],
    ['sleep', 1],
    ['report', 1],
    ['work', 2],
    ['crash', 0.2],
  ];
  const kind = chance.weighted(kinds) as Op['do'];
  switch (kind) {
    case 'step':
      return { do: 'step', name: name(), ...(chance.odds(0.1) && { throws: true }) };
    case 'steps':
      return { do: 'steps', names: [name(), name()] };
    case 'ask':
      return { do: 'ask', name: name(), ...(chance.odds(0.2) && { timeoutMs: chance.pick([500, 4_000]) }) };
    case 'asks':
      return { do: 'asks', names: [name(), name()] };
    case 'sleep':
      return { do: 'sleep', ms: chance.pick([100, 1_500, 6_000]) };
    default:
      return { do: kind };
  }
}
