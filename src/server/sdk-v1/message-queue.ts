import type { QueuedMessage, TaskMessageQueue } from '@modelcontextprotocol/sdk/experimental/tasks';

export interface MessageQueueOptions {
  /** Messages that wait for one task's `tasks/result`; one more is refused. @default 100 */
  maxPerTask?: number;
  /** Tasks that messages may wait for; beyond, those of the task that got none for longest are dropped. @default 1000 */
  maxTasks?: number;
  /** Bytes of all messages together, as JSON; beyond, as for `maxTasks`. @default 16 MiB */
  maxBytes?: number;
}

interface Waiting {
  messages: { message: QueuedMessage; bytes: number }[];
  bytes: number;
}

/**
 * Where the SDK's version 1 keeps what a task wants to send its client until that asks for the result: questions and
 * notifications. In memory, and bounded. What waits for an answer waits in the memory of this process, inside the SDK, so a
 * question that outlived the process would have nobody to be answered to; its task ends with the process, too.
 * @throws {RangeError} when an option is out of bounds.
 */
export function taskMessageQueue(options: MessageQueueOptions = {}): TaskMessageQueue {
  const { maxPerTask = 100, maxTasks = 1_000, maxBytes = 16 * 1024 * 1024 } = options;
  for (const [field, value] of Object.entries({ maxPerTask, maxTasks, maxBytes })) {
    if (Number.isSafeInteger(value) && value >= 1) continue;
    throw new RangeError(`taskMessageQueue: ${field} must be a whole number of at least 1, got ${String(value)}`);
  }
  return new BoundedQueue({ maxPerTask, maxTasks, maxBytes });
}

class BoundedQueue implements TaskMessageQueue {
  readonly #limits: Required<MessageQueueOptions>;
  /** Last the task that got a message last. */
  readonly #waiting = new Map<string, Waiting>();
  #bytes = 0;

  constructor(limits: Required<MessageQueueOptions>) {
    this.#limits = limits;
  }

  async enqueue(taskId: string, message: QueuedMessage, _sessionId?: string, maxSize?: number): Promise<void> {
    const { maxPerTask, maxTasks, maxBytes } = this.#limits;
    const waiting = this.#waiting.get(taskId) ?? { messages: [], bytes: 0 };
    const most = Math.min(maxPerTask, maxSize ?? maxPerTask);
    if (waiting.messages.length >= most) {
      throw new Error(`${most} messages of the task wait already: its client has to fetch them by tasks/result`);
    }
    const bytes = Buffer.byteLength(JSON.stringify(message));
    if (waiting.bytes + bytes > maxBytes) {
      throw new Error(`messages of the task would take ${waiting.bytes + bytes} bytes; at most ${maxBytes} may wait`);
    }
    waiting.messages.push({ message, bytes });
    waiting.bytes += bytes;
    this.#bytes += bytes;
    this.#waiting.delete(taskId);
    this.#waiting.set(taskId, waiting);
    // Never its own, which are last and fit.
    while (this.#waiting.size > maxTasks || this.#bytes > maxBytes)
      this.#drop(this.#waiting.keys().next().value as string);
  }

  async dequeue(taskId: string): Promise<QueuedMessage | undefined> {
    const waiting = this.#waiting.get(taskId);
    const first = waiting?.messages.shift();
    if (waiting === undefined || first === undefined) return undefined;
    waiting.bytes -= first.bytes;
    this.#bytes -= first.bytes;
    if (waiting.messages.length === 0) this.#waiting.delete(taskId);
    return first.message;
  }

  async dequeueAll(taskId: string): Promise<QueuedMessage[]> {
    return this.#drop(taskId);
  }

  #drop(taskId: string): QueuedMessage[] {
    const waiting = this.#waiting.get(taskId);
    if (waiting === undefined) return [];
    this.#waiting.delete(taskId);
    this.#bytes -= waiting.bytes;
    return waiting.messages.map(({ message }) => message);
  }
}
