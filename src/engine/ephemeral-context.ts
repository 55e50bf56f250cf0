import { type Clock, InputNotSupportedError, type Principal, type TaskId, type TaskProgress } from '../core/index.ts';
import type { AskResult, StepContext, TaskContext } from './context.ts';

/**
 * The context of a tool that is never a task: it lives and dies with its request. Steps run as they come and nothing is
 * recorded, since nobody could ever come back for it.
 */
export class EphemeralContext implements TaskContext {
  readonly id: TaskId;
  readonly principal: Principal;
  readonly attempt = 1;
  readonly signal: AbortSignal;
  readonly prepared;
  readonly #clock: Clock;
  readonly #onProgress: (progress: TaskProgress) => void;
  #steps = 0;

  constructor(options: {
    id: TaskId;
    principal: Principal;
    signal: AbortSignal;
    prepared: TaskContext['prepared'];
    clock: Clock;
    onProgress: (progress: TaskProgress) => void;
  }) {
    this.id = options.id;
    this.principal = options.principal;
    this.signal = options.signal;
    this.prepared = options.prepared;
    this.#clock = options.clock;
    this.#onProgress = options.onProgress;
  }

  async step<Value>(name: string, work: (context: StepContext) => Value | Promise<Value>): Promise<Value> {
    this.signal.throwIfAborted();
    this.#steps += 1;
    return work({ idempotencyKey: `${this.id}/${name}#${this.#steps}`, signal: this.signal });
  }

  ask(name: string): Promise<AskResult<never>> {
    return Promise.reject(new InputNotSupportedError(name));
  }

  sample(name: string): Promise<AskResult<never>> {
    return Promise.reject(new InputNotSupportedError(name, 'sampling'));
  }

  roots(): Promise<AskResult<never>> {
    return Promise.reject(new InputNotSupportedError('roots', 'roots'));
  }

  /** As long as the request lives. */
  async sleep(ms: number): Promise<void> {
    this.signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const timer = this.#clock.setTimer(ms, resolve);
      this.signal.addEventListener(
        'abort',
        () => {
          timer.cancel();
          reject(this.signal.reason);
        },
        { once: true },
      );
    });
  }

  progress(progress: number, total?: number, message?: string): void {
    if (!Number.isFinite(progress)) return;
    this.#onProgress({
      progress,
      ...(Number.isFinite(total) && { total: total as number }),
      ...(message !== undefined && { message }),
    });
  }

  log(): void {}
}
