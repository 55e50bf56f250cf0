// The rules for calls through a gateway, whatever was killed. What servers wrote down themselves is held against what the
// host was told, and against what the stores of gateway and server say afterwards.
import type { CallEnd } from '../../../src/client/call-state.ts';
import type { Entry } from '../../gateway/killed/stage.ts';
import type { Violation } from '../evidence.ts';
import type { CallPlan, Part } from './plan.ts';

/** Everything about one call. Times in milliseconds on the machine's monotonic clock. */
export interface CallStory {
  token: string;
  plan: CallPlan;
  madeAt: number;
  /** The host had a handle of its task. */
  handled: boolean;
  cancelledAt?: number;
  end?: CallEnd;
  endedAt?: number;
}

export interface Blow {
  parts: readonly Part[];
  server: CallPlan['server'];
  at: number;
}

/** A task as its store has it at the end. */
export interface StoredTask {
  token: string;
  taskId: string;
  status: string;
  result?: unknown;
}

export interface RoundEvidence {
  stories: readonly CallStory[];
  blows: readonly Blow[];
  entries: readonly Entry[];
  /** Of the gateway, and of the server that has tasks. */
  stored: Record<'gateway' | 'durable', readonly StoredTask[]>;
  /** What was there when everything should have been gone. */
  left: readonly string[];
}

/** A blow is seen by others a little later than it was dealt, and a call begins a little after it was made. */
const SLACK_MS = 3_000;
const HONEST = /may or may not have taken effect/;

type Say = (kind: Violation['kind'], sentence: string) => void;

export function checkRound(evidence: RoundEvidence): Violation[] {
  const found: Violation[] = [];
  for (const what of evidence.left)
    found.push({ kind: 'wrong', taskId: 'the end', sentence: `${what} is left behind` });
  for (const story of evidence.stories) {
    const say: Say = (kind, sentence) => {
      found.push({ kind, taskId: `${story.token} (${story.plan.tool})`, sentence });
    };
    checkEnd(story, evidence, say);
    checkRuns(story, evidence, say);
    checkStored(story, evidence, say);
  }
  return found;
}

/** Blows that the call may have felt. */
function felt({ madeAt, endedAt, plan }: CallStory, { blows }: RoundEvidence, ...parts: Part[]): number {
  return blows.filter(({ at, server, parts: hit }) => {
    const near = at >= madeAt - SLACK_MS && at <= (endedAt ?? Number.POSITIVE_INFINITY) + SLACK_MS;
    const reaches = hit.some((part) => parts.includes(part) && (part === 'gateway' || server === plan.server));
    return near && reaches;
  }).length;
}

function checkEnd(story: CallStory, evidence: RoundEvidence, say: Say): void {
  const { end, plan, token, cancelledAt, handled } = story;
  if (end === undefined) {
    say('stuck', 'it is not over though all is quiet');
    return;
  }
  switch (end.kind) {
    case 'completed': {
      const done = evidence.entries.filter(({ what, token: own }) => what === 'done' && own === token);
      const value = textIn(end.result);
      if (!done.some((entry) => entry.value === value)) say('wrong', `it has the result ${value}, which no tool gave`);
      return;
    }
    case 'cancelled':
      if (cancelledAt === undefined) say('wrong', 'it was cancelled by nobody');
      return;
    case 'failed': {
      const lost = plan.server === 'plain' && HONEST.test(end.error.message);
      if (!lost) say('lost', `it failed with ${end.error.message}`);
      else if (felt(story, evidence, 'gateway', 'server') === 0)
        say('lost', 'it is said to be lost, and nothing was done');
      else if (plan.tool === 'read' && felt(story, evidence, 'gateway', 'server') < 3)
        say('lost', 'it could have been called again, and was not');
      return;
    }
    case 'unknown':
      // Every other one is sent again under its key, and found.
      if (cancelledAt === undefined || handled) say('lost', `it ended as unknown: ${end.message}`);
      return;
    default:
      say('lost', `it ended as ${end.kind}: ${JSON.stringify(end)}`);
  }
}

function checkRuns({ token, plan, cancelledAt }: CallStory, { entries }: RoundEvidence, say: Say): void {
  const own = entries.filter((entry) => entry.token === token);
  const began = own.filter(({ what }) => what === 'began');
  if (plan.server === 'plain') {
    if (plan.tool !== 'read' && began.length > 1) say('doubled', `it ran ${began.length} times`);
    return;
  }
  if (new Set(own.flatMap(({ task }) => task ?? [])).size > 1) say('doubled', 'its server made two tasks of it');
  const known = new Map<string, Entry>();
  for (const entry of own) {
    const { what, key = '', value } = entry;
    const first = known.get(key);
    if (what === 'has' && first === undefined) known.set(key, entry);
    if (what === 'has' && first !== undefined && first.value !== value)
      say('doubled', `${key} has the values ${first.value} and ${value}`);
    if (what === 'began' && first !== undefined) say('doubled', `${key} ran again after it was known`);
  }
  if (own.filter(({ what }) => what === 'done').length > 1 && cancelledAt === undefined) {
    const values = new Set(own.filter(({ what }) => what === 'done').map(({ value }) => value));
    if (values.size > 1) say('doubled', 'it came to two results');
  }
}

function checkStored(story: CallStory, { stored, entries }: RoundEvidence, say: Say): void {
  const { token, end, handled, plan, cancelledAt = 0 } = story;
  const done = entries.find(({ what, token: own }) => what === 'done' && own === token);
  for (const where of ['gateway', 'durable'] as const) {
    if (where === 'durable' && plan.server === 'plain') continue;
    const tasks = stored[where].filter((task) => task.token === token);
    if (tasks.length > 1) say('doubled', `there are ${tasks.length} tasks of it (${where})`);
    if (where === 'gateway' && handled && tasks.length === 0) say('lost', 'its task is not there any more');
    for (const { status, result } of tasks) {
      const open = status === 'working' || status === 'input_required';
      // One whose request was cancelled or cut off waits a minute for it to come again.
      if (open && (handled || end?.kind === 'completed')) say('stuck', `its task is ${status} (${where})`);
      // Who cancels a request that was not answered learns no more of it.
      const over = end?.kind === 'completed' || (end?.kind === 'cancelled' && handled) ? end.kind : undefined;
      // A cancel may meet a tool that is done, and whose result is on its way.
      const tooLate =
        over === 'cancelled' && status === 'completed' && done !== undefined && done.at <= cancelledAt + 500;
      if (where === 'gateway' && over !== undefined && status !== over && !tooLate)
        say('lost', `its host was told ${over}, and its task is ${status}`);
      if (end?.kind === 'completed' && textIn(result) !== textIn(end.result))
        say('lost', `its result was ${textIn(end.result)} and is ${textIn(result)} (${where})`);
      if (where === 'durable' && end?.kind === 'cancelled' && status === 'failed')
        say('wrong', 'it was cancelled, and its server says it failed');
    }
  }
}

function textIn(result: unknown): string {
  const { content } = (result ?? {}) as { content?: { text?: string }[] };
  return content?.[0]?.text ?? JSON.stringify(result);
}
