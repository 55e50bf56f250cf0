// The rules that hold for every task, whatever was done to the processes it ran in. None of them asks the code under test.
import type { Json } from '../support/messages.ts';
import { type Evidence, type Run, stoodStill, struck, type Violation } from './evidence.ts';
import { rules } from './tools.ts';

/** Between the moment a cancel is decided and the moment a worker that had just taken the task calls the handler. */
const CANCEL_SLACK_MS = 1_000;
/** Two clocks tell when a nap is over: the wall's and ours. */
const NAP_SLACK_MS = 5;
const PUT_AWAY = 'the task waits and goes on later';

type Say = (kind: Violation['kind'], sentence: string) => void;

export function check(evidence: Evidence): Violation[] {
  const found: Violation[] = [];
  const say: Say = (kind, sentence) => found.push({ kind, taskId: evidence.task.taskId, sentence });
  checkRuns(evidence, say);
  checkSteps(evidence, say);
  checkAnswers(evidence, say);
  checkCancel(evidence, say);
  checkEnding(evidence, say);
  checkAttempts(evidence, say);
  return found;
}

/** One run at a time, and another one only for a reason. */
function checkRuns({ task, runs }: Evidence, say: Say): void {
  for (const [n, run] of runs.entries()) {
    const before = runs[n - 1];
    if (before === undefined) continue;
    if (rules[task.order.tool] === 'never again') say('doubled', `it was started ${n + 1} times`);
    if (!mayFollow(before, run.startedAt, task.order.tool)) say('doubled', `run ${n + 1} began without a reason`);
    const still = runs.slice(0, n).find(({ overAt }) => overAt === undefined || overAt > run.startedAt);
    if (still !== undefined && !stoodStill(still, run.startedAt)) {
      say('doubled', `run ${n + 1} began while another was under way`);
    }
  }
}

function mayFollow(before: Run, at: number, tool: keyof typeof rules): boolean {
  if (struck(before, at)) return true;
  const last = before.entries.filter((entry) => entry.at <= at).at(-1);
  if (last?.what === 'threw') return tool === 'flaky' || tool === 'hopeless';
  return before.entries.some(({ what, value }) => what === 'told' && value === PUT_AWAY);
}

/** A step that the handler has the value of never runs again, and has this value for ever. */
function checkSteps({ task, notes, runs, seen }: Evidence, say: Say): void {
  const known = new Map<string, { value: string; at: number }>();
  for (const { what, key = '', value = '', at } of notes) {
    if (what !== 'has') continue;
    const first = known.get(key);
    if (first === undefined) known.set(key, { value, at });
    else if (first.value !== value) say('doubled', `${key} has the values ${first.value} and ${value}`);
  }
  for (const run of runs) {
    const begun = run.entries.filter(({ what }) => what === 'began');
    for (const { key = '', at } of begun) {
      const has = known.get(key);
      if (has !== undefined && at > has.at && !stoodStill(run, at))
        say('doubled', `${key} ran again after it was known`);
    }
    if (new Set(begun.map(({ key }) => key)).size < begun.length) say('doubled', 'a step ran twice in one run');
  }
  const effects = notes.filter(({ what }) => what === 'effect').length;
  const jobs = notes.filter(({ what, key }) => what === 'began' && key === 'job').length;
  if (effects > jobs) say('doubled', `${effects} children did the work of ${jobs} runs of the step`);
  if (known.has('job') && effects === 0) say('lost', 'a child is said to have done its work, and has not');
  if (seen['status'] !== 'completed') return;
  const values = valuesOf(seen);
  for (const [key, { value }] of known)
    if (!values.includes(value)) say('lost', `the value of ${key} is not in the result`);
  const slept = task.order.tool === 'nap' && known.get('before');
  const woke = notes.find(({ what, key }) => what === 'began' && key === 'after');
  const napMs = Number(task.order.args['napMs']);
  if (slept && woke && woke.at - slept.at < napMs - NAP_SLACK_MS) say('wrong', `it slept less than ${napMs} ms`);
}

/** What was acknowledged is what the handler hears, in every run. */
function checkAnswers({ task, notes, seen }: Evidence, say: Say): void {
  const open = Object.keys((seen['inputRequests'] ?? {}) as Json);
  const heard = new Map<string, string>();
  for (const { what, key = '', value = '' } of notes) {
    if (what !== 'heard') continue;
    const first = heard.get(key);
    if (first !== undefined && first !== value)
      say('doubled', `the answers ${first} and ${value} to ${key} both counted`);
    heard.set(key, value);
  }
  for (const [key, { sent, acknowledgedAt }] of task.answers) {
    const word = heard.get(key);
    if (word !== undefined) {
      const before = sent.filter(({ at }) => acknowledgedAt === undefined || at <= acknowledgedAt);
      if (!before.some(({ value }) => value === word))
        say('lost', `${word} counted, not the answer acknowledged first`);
    } else if (acknowledgedAt !== undefined) {
      if (open.includes(key)) say('lost', `${key} is still open though its answer was acknowledged`);
      else if (seen['status'] === 'completed') say('lost', `the handler never heard the answer to ${key}`);
    }
  }
  for (const [key, word] of heard) {
    if (!task.answers.has(key) && !(word === 'expired' && task.order.args['withinMs'] !== undefined)) {
      say('wrong', `the handler heard ${word} for ${key}, which nobody said`);
    }
    if (seen['status'] === 'completed' && !valuesOf(seen).includes(word)) say('lost', `${word} is not in the result`);
  }
}

function checkCancel({ task, runs, seen }: Evidence, say: Say): void {
  const { cancel } = task;
  if (seen['status'] === 'cancelled' && cancel === undefined) say('wrong', 'it was cancelled by nobody');
  const at = cancel?.acknowledgedAt;
  if (at === undefined) return;
  if (seen['status'] !== 'cancelled' && Date.parse(String(seen['lastUpdatedAt'])) > (cancel?.acknowledgedAtWall ?? 0)) {
    say('lost', `its cancel was acknowledged, and then it was ${seen['status']}`);
  }
  for (const run of runs) {
    if (run.startedAt > at + CANCEL_SLACK_MS && !stoodStill(run, run.startedAt)) {
      say('doubled', 'a run began after its cancel was acknowledged');
    }
  }
}

/** Every end is one that its tool may come to. */
function checkEnding({ task, seen, runs, notes, attempts }: Evidence, say: Say): void {
  const { tool } = task.order;
  const { status } = seen;
  if (status === 'working') say('stuck', 'it is still working though all is quiet');
  if (status === 'completed') {
    if (!notes.some(({ what }) => what === 'returned')) say('wrong', 'it has a result that no handler returned');
    if (tool === 'hopeless' || tool === 'poison') say('wrong', 'it completed, which it cannot');
  }
  if (status !== 'failed') return;
  const { message = '' } = seen['error'] as { message?: string };
  const interrupted = message.startsWith('interrupted: ');
  const spent = attempts.filter(({ outcome }) => outcome === 'failed' || outcome === 'lost').length;
  switch (rules[tool]) {
    case 'never again':
      if (!interrupted) say('wrong', `it failed with ${message}`);
      break;
    case 'auto':
      if (!interrupted) say('wrong', `it failed with ${message}`);
      if (notes.some(({ what }) => what === 'has')) say('lost', 'it failed though it had a step to go on from');
      break;
    default: {
      const most = { hopeless: 3, poison: 2 }[tool as string];
      if (most === undefined) say('lost', `it failed with ${message}, which its rule does not allow`);
      else if (spent !== most) say('wrong', `it failed after ${spent} attempts of ${most}`);
      return;
    }
  }
  const last = runs.at(-1);
  const known = attempts.some(({ life }) => life !== undefined && life.blows.length > 0);
  if (!(last !== undefined && struck(last, Number.POSITIVE_INFINITY)) && !known) {
    say('wrong', 'it was interrupted by nothing');
  }
}

/** A worker that is asked to end gives every lease back; only those that were not asked lose some. */
function checkAttempts({ attempts }: Evidence, say: Say): void {
  for (const { life, outcome } of attempts) {
    if (outcome !== 'lost' || life === undefined) continue;
    if (life.blows.every(({ kind }) => kind === 'drained'))
      say('wrong', `${life.name} lost it, and was only told to end`);
  }
}

function valuesOf(seen: Json): unknown[] {
  const { structuredContent } = seen['result'] as { structuredContent?: { values?: unknown[] } };
  return structuredContent?.values ?? [];
}
