// What happens in one round with a gateway in the middle, chosen by the seed before it begins.
import type { ServerName } from '../../gateway/killed/stage.ts';
import type { Chance } from '../../sim/chance.ts';

/** A process between a host and a tool; `gateway` is the daemon, or the one process that serves. */
export type Part = 'front' | 'gateway' | 'server';
/** When it is killed, as its victim sees it. */
export type Moment = 'at once' | 'running' | 'asking' | 'ending' | 'over';

export interface CallPlan {
  server: ServerName;
  tool: 'write' | 'read' | 'confirm' | 'steps' | 'ask';
  /** How long it works, or each of its steps, in milliseconds. */
  ms: number;
  /** In the round, in milliseconds. */
  atMs: number;
  cancelAfterMs?: number;
  /** How long a question waits, in milliseconds. */
  answerAfterMs: number;
  /** Done to the processes of this call. */
  blow?: { parts: readonly Part[]; moment: Moment; afterMs: number };
}

export interface RoundPlan {
  /** `fronts`: each server wrapped, behind one daemon; `http`: one process serves both. */
  way: 'fronts' | 'http';
  protocol: '2026-07-28' | '2025-11-25';
  calls: readonly CallPlan[];
}

const tools = {
  plain: ['write', 'write', 'read', 'confirm'],
  durable: ['steps', 'steps', 'ask'],
} as const;
const asks = (tool: CallPlan['tool']): boolean => tool === 'ask' || tool === 'confirm';
const BLOWS = [2, 3] as const;
const OTHERS = [3, 6] as const;
/** Between two blows, so that each meets something that runs again. */
const BLOW_EVERY_MS = 2_500;

export function planFor(chance: Chance): RoundPlan {
  const way = chance.pick(['fronts', 'fronts', 'http'] as const);
  const blows = Array.from({ length: chance.int(...BLOWS) }, (_, n) => victim(chance, way, n * BLOW_EVERY_MS));
  const others = Array.from({ length: chance.int(...OTHERS) }, () => call(chance, chance.int(0, 3_000)));
  return { way, protocol: chance.pick(['2026-07-28', '2026-07-28', '2025-11-25']), calls: [...blows, ...others] };
}

function call(chance: Chance, atMs: number): CallPlan {
  const server = chance.pick(['plain', 'durable'] as const);
  return {
    server,
    tool: chance.pick<CallPlan['tool']>(tools[server]),
    ms: chance.int(5, 600),
    atMs,
    answerAfterMs: chance.int(0, 500),
    ...(chance.odds(0.2) && { cancelAfterMs: chance.int(0, 1_500) }),
  };
}

function victim(chance: Chance, way: RoundPlan['way'], atMs: number): CallPlan {
  const { cancelAfterMs: _, ...plan } = call(chance, atMs);
  const parts = chance.pick<readonly Part[]>(
    way === 'http'
      ? [['gateway'], ['gateway'], ['server'], ['gateway', 'server']]
      : [['gateway'], ['gateway'], ['server'], ['front'], ['front', 'gateway'], ['gateway', 'server']],
  );
  const moments: readonly Moment[] = asks(plan.tool)
    ? ['at once', 'asking', 'asking', 'ending', 'over']
    : ['at once', 'running', 'running', 'ending', 'over'];
  return { ...plan, blow: { parts, moment: chance.pick(moments), afterMs: chance.int(0, 40) } };
}
