import {
  AnswerInvalidError,
  type Logger,
  type Principal,
  Recent,
  type RequestorAbilities,
  type TaskId,
  TaskNotFoundError,
  type TaskRecord,
} from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { createdTask } from '../wire/rev-sep-1686/index.ts';
import { decodeAnswer, decodeQuestionId, encodeQuestionId } from '../wire/rev2025-11-25/index.ts';
import { wordsFor } from '../wire/words.ts';
import type { Caller } from './caller.ts';
import { ClientTasks } from './client-tasks.ts';
import type { ServingParts } from './parts.ts';
import type { JSONRPCMessage, ServerContext } from './sdk.ts';
import { sealOf } from './seals.ts';

const MAX_REMEMBERED = 1_000;

/** Where messages to a requestor can go: the stream of one of its requests, or a channel that stays open. */
export interface Stream {
  send(message: object): Promise<void>;
  /** What its requestor can be asked; it is asked nothing else. */
  readonly abilities: RequestorAbilities;
  /** The protocol version it speaks. */
  readonly version: string | undefined;
  /** It makes tasks of its own of what its model is asked, by the first draft. @default false */
  readonly samplesAsTask?: boolean | undefined;
  /** Ids of the questions that went out on it. */
  readonly asked: Set<string>;
}

/** The stream that belongs to a request; on stdio there is only one for all, and what was asked on it is asked. */
export function streamOf(
  { abilities, version, samplesAsTask }: Caller,
  ctx: ServerContext,
  parts: ServingParts,
): Stream {
  const transport = parts.transport();
  const relatedRequestId = ctx.mcpReq.id;
  return {
    send: (message) => transport.send(message as JSONRPCMessage, { relatedRequestId }),
    abilities,
    version,
    samplesAsTask,
    asked: parts.asked ?? new Set(),
  };
}

interface Attending {
  stream: Stream;
  /** The task as last seen there. */
  latest: TaskRecord | undefined;
}

/**
 * Puts the open questions of tasks to requestors of 2025-11-25 and earlier, as requests of ours. Of several streams the
 * newest gets them: a message goes to one stream only.
 */
export class QuestionDesk {
  readonly #tasks: Tasks;
  readonly #theirs: ClientTasks;
  readonly #attending = new Map<TaskId, Attending[]>();
  /** Ids that were answered here of late: who answered need not be told that the question is closed. */
  readonly #answered = new Recent<string, true>(MAX_REMEMBERED);
  /** Ids whose answer was none: they are asked again when somebody comes for them, also where they were asked before. */
  readonly #again = new Recent<string, true>(MAX_REMEMBERED);

  constructor(tasks: Tasks) {
    this.#tasks = tasks;
    this.#theirs = new ClientTasks(tasks);
  }

  /** Tasks for whose questions streams wait. */
  get size(): number {
    return this.#attending.size;
  }

  /** From now on the task's questions go to this stream. Returns the function that ends that. */
  attend(taskId: TaskId, stream: Stream): () => void {
    const own: Attending = { stream, latest: undefined };
    this.#attending.set(taskId, [...(this.#attending.get(taskId) ?? []), own]);
    return () => {
      const before = this.#attending.get(taskId) ?? [];
      const left = before.filter((other) => other !== own);
      if (left.length === 0) this.#attending.delete(taskId);
      else this.#attending.set(taskId, left);
      const next = left.at(-1);
      if (before.at(-1) !== own || next?.latest === undefined) return;
      // What was asked on the stream that ended, the one before it has to ask now.
      this.bring(next.latest, next.stream).catch((error) => {
        this.#tasks.logger.debug({ error }, 'a question could not be sent to its requestor');
      });
    };
  }

  /** Whether a stream waits for the task's questions. */
  attended(taskId: TaskId): boolean {
    return this.#attending.has(taskId);
  }

  /** Whether messages about the task go to this stream, rather than to a newer one. */
  leads(taskId: TaskId, stream: Stream): boolean {
    const newest = this.#attending.get(taskId)?.at(-1);
    return newest === undefined || newest.stream === stream;
  }

  /** Sends what is open and was not sent on `stream`, and withdraws what was and is not open any more. */
  async bring(task: TaskRecord, stream: Stream): Promise<void> {
    const { taskId, principal, state } = task;
    const own = this.#attending.get(taskId)?.find((attending) => attending.stream === stream);
    if (own !== undefined) own.latest = task;
    const asked = state.status === 'input_required' ? Object.entries(state.inputRequests) : [];
    const open = asked.filter(([, { kind }]) => stream.abilities[kind] === true);
    if (open.length === 0 && stream.asked.size === 0) return;
    const seal = await sealOf(this.#tasks);
    const ids = new Map(open.map(([key, question]) => [encodeQuestionId(taskId, key, principal, seal), question]));
    for (const id of [...stream.asked]) {
      if (ids.has(id) || decodeQuestionId(id, principal, seal)?.taskId !== taskId) continue;
      stream.asked.delete(id);
      if (this.#answered.has(id)) continue;
      const params = { requestId: id, reason: 'the question is closed' };
      await stream.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    }
    for (const [id, question] of ids) {
      if (!this.leads(taskId, stream)) return;
      const again = this.#again.delete(id);
      if (stream.asked.has(id) && !again) continue;
      stream.asked.add(id);
      const asTask = stream.samplesAsTask === true && question.kind === 'sampling';
      if (asTask) this.#theirs.went(id, stream);
      const asking = wordsFor(task, stream.version).question(task, id, question, asTask);
      await stream.send({ jsonrpc: '2.0', id, ...asking });
    }
  }

  /**
   * Takes the answer to a question of ours, on whichever connection and process it arrives.
   * @param owner whose answer it is; of nobody, there are no questions
   * @returns false: the message is something else
   */
  async take(message: unknown, owner: Principal | undefined): Promise<boolean> {
    if (owner === undefined) return false;
    const theirs = createdTask(message);
    if (theirs !== undefined) return this.#follow(theirs, owner);
    if (!isResponse(message)) return false;
    if (this.#theirs.take(message)) return true;
    const { id } = message;
    if (typeof id !== 'string' || !id.startsWith('lc-')) return false;
    const question = decodeQuestionId(id, owner, await sealOf(this.#tasks));
    if (question === undefined) return false;
    const { taskId, key } = question;
    const { engine, logger } = this.#tasks;
    try {
      const open = (await engine.openQuestions(taskId, owner)).get(key);
      if (open === undefined) return true; // Answered already, or closed: there is nobody to tell.
      const answer = decodeAnswer(open.kind, message);
      if (!answer.ok) {
        this.#again.set(id, true);
        await this.#follow(id, owner); // Asked before, and made a task then: there may be an answer to be fetched.
        // What a client says instead of an answer is its own; what we miss in one is ours.
        const problem = 'error' in answer ? 'an error' : answer.message;
        logger.info({ problem }, 'an answer to a question makes no sense and is ignored');
        return true;
      }
      this.#answered.set(id, true); // Before the question closes, and everybody hears of it.
      await engine.answer(taskId, owner, new Map([[key, answer.value]]));
    } catch (error) {
      this.#answered.delete(id);
      if (error instanceof AnswerInvalidError) this.#again.set(id, true);
      tell(logger, error);
    }
    return true;
  }

  /** A client made a question of ours a task of its own. @returns false: that is none of ours, or not asked here */
  async #follow(id: string, owner: Principal): Promise<boolean> {
    const question = this.#theirs.knows(id) ? decodeQuestionId(id, owner, await sealOf(this.#tasks)) : undefined;
    if (question === undefined) return false;
    const { engine } = this.#tasks;
    this.#theirs.follow(id, {
      isOpen: async () => {
        try {
          return (await engine.openQuestions(question.taskId, owner)).has(question.key);
        } catch (error) {
          if (error instanceof TaskNotFoundError) return false;
          throw error;
        }
      },
      answer: async (reply) => void (await this.take({ ...reply, id }, owner)),
    });
    return true;
  }
}

/** Nobody waits for an answer to an answer; an operator may want to know. */
function tell(logger: Logger, error: unknown): void {
  logger.info({ error }, 'an answer to a question could not be taken');
}

function isResponse(message: unknown): message is { id: unknown; result?: unknown; error?: unknown } {
  return (
    typeof message === 'object' &&
    message !== null &&
    !('method' in message) &&
    'id' in message &&
    ('result' in message || 'error' in message)
  );
}
