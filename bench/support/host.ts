import { type Child, startChild } from './children.ts';

/** What a host is told to do. */
export type HostOrder =
  /** Calls a tool that answers at once, so often, one after the other. */
  | { do: 'call'; count: number }
  /** Begins so many calls that become tasks, and waits until each is followed. */
  | { do: 'follow'; count: number }
  | { do: 'memory' }
  /** Counts the polls that leave within a while. */
  | { do: 'polls'; windowMs: number };

export interface HostReplies {
  /** Milliseconds of each call. */
  call: number[];
  follow: undefined;
  /** In MB, garbage collected. */
  memory: { rss: number; heap: number };
  /** `cpu`: in % of a core. */
  polls: { sent: number; shortestGapMs: number; cpu: number };
}

export type HostReply =
  | 'ready'
  | { reply: number; value: HostReplies[HostOrder['do']] }
  | { reply: number; error: string };

/** A process that calls tools; see `servers/host.ts`. */
export class Host {
  readonly #child: Child;
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  #orders = 0;

  private constructor(child: Child) {
    this.#child = child;
  }

  static async start(args: string[], flags: string[] = []): Promise<Host> {
    const child = startChild('host', args, flags);
    const host = new Host(child);
    const ready = new Promise<void>((resolve) => {
      child.process.on('message', (message: HostReply) => {
        if (message === 'ready') resolve();
        else host.#told(message);
      });
    });
    const failed = child.gone.then((status) => Promise.reject(new Error(`a host ended with ${status} at its start`)));
    await Promise.race([ready, failed]);
    void child.gone.then((status) => {
      for (const { reject } of host.#waiting.values()) reject(new Error(`a host ended with ${status}`));
    });
    return host;
  }

  /** @throws {Error} when it fails, or the process ends first. */
  order<What extends HostOrder>(order: What): Promise<HostReplies[What['do']]> {
    this.#orders += 1;
    const id = this.#orders;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.process.send({ ...order, id }, (error) => error !== null && reject(error));
    });
  }

  async stop(): Promise<void> {
    if (this.#child.process.connected) this.#child.process.disconnect();
    await this.#child.gone;
  }

  #told(message: Exclude<HostReply, 'ready'>): void {
    const waiting = this.#waiting.get(message.reply);
    this.#waiting.delete(message.reply);
    if ('error' in message) waiting?.reject(new Error(message.error));
    else waiting?.resolve(message.value as never);
  }
}
