import { type Answer, canonicalJson, fingerprint, type JsonValue, type Question } from '../../core/index.ts';
import type { CallRun } from '../call-run.ts';
import type { Changes } from '../changes.ts';
import { ClientClosedError } from '../errors.ts';
import type { Following } from '../following.ts';
import type { Journal } from '../journal/journal.ts';
import type { OnQuestion } from '../remote.ts';
import { unlessAborted } from '../unless-aborted.ts';

export interface AskedOnTheWayParts {
  server: string;
  journal: Journal;
  changes: Changes;
  following: Following;
  /** Whoever answers, where the host has somebody. */
  handler: OnQuestion | undefined;
  /** All calls are one caller's: it does not matter by which of them he is asked. */
  oneCaller: boolean;
}

/**
 * What a server asks by requests of its own, before 2026-07-28 and while a call has no task yet. Each is put to the host's handler,
 * naming the call; where there is none, or a task's handler made the call, it stands in the call and waits for `answer`.
 */
export class AskedOnTheWay {
  readonly #parts: AskedOnTheWayParts;

  constructor(parts: AskedOnTheWayParts) {
    this.#parts = parts;
  }

  readonly ask: OnQuestion = async (asked) => {
    const { handler } = this.#parts;
    const run = this.#callOf(asked.taskId);
    if (handler !== undefined && run?.record.parent === undefined) {
      if (run === undefined) return handler(asked);
      const { callId: id, server, tool, note } = run.record;
      return handler({ ...asked, call: { id, server, tool, ...(note !== undefined && { note }) } });
    }
    // Whose question it is cannot be told: nobody could be shown what it is about.
    if (run === undefined) return { action: 'cancel' };
    return this.#waitIn(run, asked.question, asked.signal);
  };

  /** A question that names no task belongs to the one call that has no answer yet, if there is only one. */
  #callOf(taskId: string | undefined): CallRun | undefined {
    const { following, server, oneCaller } = this.#parts;
    if (taskId !== undefined) return following.ofTask(server, taskId);
    const unanswered = following.unanswered(server);
    return unanswered.length === 1 || oneCaller ? unanswered.at(-1) : undefined;
  }

  /** An answer that was given before a crash and never sent is taken; one that was sent is not: the same may be asked again. */
  async #waitIn(run: CallRun, question: Question, signal: AbortSignal): Promise<Answer> {
    const { journal, changes } = this.#parts;
    const { callId } = run.record;
    const given = await journal.answers(callId);
    const key = nextKey(question, (used) => given.has(spent(used)) || run.asks(used));
    run.ask(key, question);
    try {
      const answer = await changes.until({ callId }, async () => (await journal.answers(callId)).get(key), signal);
      await journal.spendAnswer(callId, key, spent(key));
      return answer;
    } catch (error) {
      if (!(error instanceof ClientClosedError)) throw error;
      // Any answer would be one that nobody gave. The next client is asked again.
      return await unlessAborted(new Promise<never>(() => {}), signal);
    } finally {
      run.unask(key);
    }
  }
}

/**
 * Requests have no keys. The words are what is the same after a restart, and how often they were answered before: asked again, they
 * are another question.
 */
function nextKey(question: Question, isUsed: (key: string) => boolean): string {
  const words = `asked_${fingerprint(canonicalJson(question as unknown as JsonValue), 'hex', 20)}`;
  let key = words;
  for (let times = 2; isUsed(key); times += 1) key = `${words}_${times}`;
  return key;
}

function spent(key: string): string {
  return `${key}#sent`;
}
