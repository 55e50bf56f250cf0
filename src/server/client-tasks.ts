import { randomUUID } from 'node:crypto';
import { isJsonObject, MAX_POLL_INTERVAL_MS, MIN_POLL_INTERVAL_MS, Recent } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { askResult, askStatus, askToDelete, readStatus } from '../wire/rev-sep-1686/index.ts';
import type { Stream } from './questions.ts';

const ID_PREFIX = 'lc-poll-';
/** A client that does not answer a question about its task within this time is asked again. */
const PATIENCE_MS = 30_000;
/** Questions of which it is remembered where they were asked. */
const MAX_ASKED = 1_000;

interface Reply {
  result?: unknown;
  error?: unknown;
}

/** What becomes of a question that is a task of the client's. */
export interface Asked {
  /** Whether anybody still waits for the answer. */
  isOpen(): Promise<boolean>;
  answer(reply: Reply): Promise<void>;
}

/**
 * Fetches answers that clients have made tasks of their own (the first draft): the request for them is answered too, but may
 * never be, where its connection breaks. Asked on the stream on which the question went out, as long as that is there; in
 * memory, since a question that nobody fetches is put again after a restart.
 */
export class ClientTasks {
  readonly #tasks: Tasks;
  readonly #asked = new Recent<string, Stream>(MAX_ASKED);
  readonly #waiting = new Map<string, (reply: Reply) => void>();
  readonly #followed = new Set<string>();

  constructor(tasks: Tasks) {
    this.#tasks = tasks;
  }

  /** Requests of ours that wait for their answer. */
  get size(): number {
    return this.#waiting.size;
  }

  /** A question that the client may make a task of this id went out on this stream. */
  went(taskId: string, stream: Stream): void {
    this.#asked.set(taskId, stream);
  }

  /** Whether that was asked here. */
  knows(taskId: string): boolean {
    return this.#asked.has(taskId);
  }

  /** Takes the answer to a poll. @returns false: the message is something else */
  take(message: unknown): boolean {
    if (!isJsonObject(message) || 'method' in message || typeof message.id !== 'string') return false;
    if (!message.id.startsWith(ID_PREFIX)) return false;
    this.#waiting.get(message.id)?.(message);
    return true;
  }

  /** There is such a task: follows it until there is an answer, or nobody waits for one. */
  follow(taskId: string, asked: Asked): void {
    if (this.#followed.has(taskId) || !this.#asked.has(taskId)) return;
    this.#followed.add(taskId);
    this.#fetch(taskId, asked)
      .catch((error) => this.#tasks.logger.debug({ error }, "a task of a client's could not be followed"))
      .finally(() => this.#followed.delete(taskId));
  }

  async #fetch(taskId: string, asked: Asked): Promise<void> {
    let waitMs = MIN_POLL_INTERVAL_MS;
    for (;;) {
      await this.#pause(waitMs);
      const stream = this.#asked.get(taskId);
      if (stream === undefined) return;
      if (!(await asked.isOpen())) return await this.#forget(taskId, stream);
      const reply = await this.#ask(stream, askStatus(taskId));
      const task = readStatus(reply?.result);
      if (task?.status === 'over' || reply?.error !== undefined) return; // The request itself may still be answered.
      if (task?.status === 'completed') {
        const outcome = await this.#ask(stream, askResult(taskId));
        if (outcome !== undefined) await asked.answer(outcome);
        return await this.#forget(taskId, stream);
      }
      waitMs = Math.min(Math.max(task?.pollIntervalMs ?? 2 * waitMs, MIN_POLL_INTERVAL_MS), MAX_POLL_INTERVAL_MS);
    }
  }

  /** What a model said is not left with the client for longer than it has to be. */
  async #forget(taskId: string, stream: Stream): Promise<void> {
    this.#asked.delete(taskId);
    await this.#ask(stream, askToDelete(taskId));
  }

  async #ask(stream: Stream, request: object): Promise<Reply | undefined> {
    const id = ID_PREFIX + randomUUID();
    const replied = new Promise<Reply | undefined>((resolve) => {
      const timer = this.#tasks.engine.clock.setTimer(PATIENCE_MS, () => resolve(undefined));
      this.#waiting.set(id, (reply) => {
        timer.cancel();
        resolve(reply);
      });
    });
    try {
      await stream.send({ jsonrpc: '2.0', id, ...request });
      return await replied;
    } finally {
      this.#waiting.delete(id);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#tasks.engine.clock.setTimer(ms, resolve));
  }
}
