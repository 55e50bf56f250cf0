import type { Followed, Hooks, Json, Outcome, Peer } from '../peer.ts';

/** A call that takes long is answered with words how to go on. A model would follow them; here we do. */
export abstract class CallerWithoutTasks implements Peer {
  protected hooks: Hooks | undefined;
  /** Beside the task, what a wait for it is called with. */
  protected readonly waiting: Json = {};
  /** Questions reach it as such, and must: they are not answered by a tool. */
  protected readonly canBeAsked: boolean = false;

  abstract call(name: string, args: Json, hooks?: Hooks): Promise<Outcome>;
  abstract close(): Promise<void>;

  async start(name: string, args: Json, hooks: Hooks = {}): Promise<Followed> {
    this.hooks = hooks;
    const first = await this.call(name, args, hooks);
    const taskId = taskIn(first);
    const outcome =
      taskId === undefined ? Promise.resolve(first) : this.#answer(first).then(() => this.outcome(taskId));
    return {
      taskId,
      outcome,
      cancel: async () => void (await this.call('task_cancel', { taskId })),
    };
  }

  async outcome(taskId: string): Promise<Outcome> {
    for (;;) {
      const outcome = await this.call('task_wait', { taskId, ...this.waiting }, this.hooks);
      const text = textOf(outcome);
      if (/ was cancelled/.test(text)) return { status: 'cancelled' };
      if (!/ is still running/.test(text) && !(await this.#answer(outcome))) return outcome;
    }
  }

  async list(): Promise<{ taskId: string; status: string }[]> {
    const text = textOf(await this.call('task_list', {}));
    return [...text.matchAll(/^(tsk_\S+) \S+: (\w+)/gm)].map(([, taskId = '', status = '']) => ({ taskId, status }));
  }

  /** Clients that cannot be asked are told a question, and which tool takes its answer. */
  async #answer(outcome: Outcome): Promise<boolean> {
    if (this.canBeAsked) return false;
    const text = textOf(outcome);
    const [, question] = /^Question "[^"]*": (.*)$/m.exec(text) ?? [];
    const [, args] = /call task_answer with (\{.*?\}\}),/.exec(text) ?? [];
    if (question === undefined || args === undefined) return false;
    const content = this.hooks?.onQuestion?.(question);
    if (content === undefined) throw new Error(`nobody answers "${question}"`);
    await this.call('task_answer', { ...(JSON.parse(args) as Json), content });
    return true;
  }
}

/** How far a task is, as the words of an answer have it. */
export function progressIn(outcome: Outcome): string | undefined {
  return /^(?:NOT finished: )?\S+ is still running.*\((\d+\/\d+)/.exec(textOf(outcome))?.[1];
}

function textOf(outcome: Outcome): string {
  const content = outcome.status === 'result' ? (outcome.result.content as { text?: string }[]) : [];
  return content[0]?.text ?? '';
}

/** The id that an answer goes on with, if it is no result yet. */
function taskIn(outcome: Outcome): string | undefined {
  if (!textOf(outcome).startsWith('NOT finished')) return undefined;
  return /\btsk_[\w-]+/.exec(textOf(outcome))?.[0];
}
