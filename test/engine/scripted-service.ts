import type {
  Answer,
  JobAdapter,
  JobCaps,
  JobContext,
  JobLogLine,
  JobSnapshot,
  JsonObject,
  Question,
} from '../../src/core/index.ts';

export type Method = 'start' | 'find' | 'poll' | 'cancel' | 'logs' | 'answer' | 'release';

/** A job as the service has it. */
export interface ServiceJob {
  id: string;
  args: JsonObject;
  snapshot: JobSnapshot;
  cancelled: boolean;
  answers: Record<string, Answer[]>;
  lines: (string | JobLogLine)[];
}

/** What happens to one request: before the service sees it, or after it has done what was asked. */
export interface Fault {
  method: Method;
  /** `before`: it never arrived; `after`: it was done, and the answer is lost. */
  when: 'before' | 'after';
  error: unknown;
}

const SECRET = 'Bearer of-the-service';

/** A service that does jobs, in memory, beside the processes that use it: it outlives them, and does what its test says. */
export class ScriptedService {
  readonly jobs = new Map<string, ServiceJob>();
  /** Also those that are gone. */
  readonly all: ServiceJob[] = [];
  readonly byKey = new Map<string, string>();
  readonly asked: { method: Method; ref?: string; key: string; startNumber: number }[] = [];
  faults: Fault[] = [];
  /** Told before the request is done; what it waits for, the request waits for. */
  onRequest: (method: Method, context: JobContext) => void | Promise<void> = () => {};
  /** How a job stands when it was just started. */
  first: JobSnapshot = { state: 'working' };
  #catchesUp = false;
  readonly #hidden = new Set<string>();
  readonly #waiting = new Set<() => void>();
  readonly #ringers = new Map<string, Set<() => void>>();

  adapter(options: Partial<JobCaps> & { find?: boolean; derived?: boolean } = {}): JobAdapter<JsonObject, string> {
    const { find = false, derived = false, ...caps } = options;
    const adapter: JobAdapter<JsonObject, string> = {
      kind: 'service',
      caps: { cancel: 'force', logs: 'none', input: true, push: false, idempotentStart: false, ...caps },
      start: (args, context) =>
        this.#do('start', undefined, context, () => ({ ref: this.#start(args, context, options) })),
      poll: (ref, context) => this.#do('poll', ref, context, () => this.#snapshot(ref)),
      cancel: (ref, context) =>
        this.#do('cancel', ref, context, () => {
          const job = this.jobs.get(ref);
          if (job === undefined || isOver(job)) return;
          job.cancelled = true;
          job.snapshot = { state: 'cancelled' };
          this.#ring(ref);
        }),
      answer: (ref, key, answer, context) =>
        this.#do('answer', ref, context, () => {
          const job = this.job(ref);
          job.answers[key] = [...(job.answers[key] ?? []), answer];
        }),
      logs: (ref, cursor, context) =>
        this.#do('logs', ref, context, () => {
          const { lines, snapshot } = this.job(ref);
          const from = Number(cursor ?? 0);
          const page = lines.slice(from, from + 3);
          return {
            lines: page.map((line) => (typeof line === 'string' ? { text: line } : line)),
            cursor: String(from + page.length),
            eof: snapshot.state === 'done' && from + page.length >= lines.length,
          };
        }),
      release: (ref, context) => this.#do('release', ref, context, () => {}),
      async webhook(request) {
        if (request.headers.get('authorization') !== SECRET) return [];
        return [{ ref: ((await request.json()) as { ref: string }).ref }];
      },
    };
    if (find)
      adapter.find = (_args, context) => this.#do('find', undefined, context, () => this.#found(context, derived));
    if (derived) adapter.refOf = ({ idempotencyKey }) => `job-${idempotencyKey}`;
    if (caps.push === true) {
      adapter.changed = (ref, { signal }) =>
        new Promise((resolve) => {
          const ringers = this.#ringers.get(ref) ?? new Set();
          this.#ringers.set(ref, ringers.add(resolve));
          signal.addEventListener('abort', () => ringers.delete(resolve));
        });
    }
    return adapter;
  }

  /** The job of a ref; without one, the only one there is. */
  job(ref?: string): ServiceJob {
    const job = ref === undefined ? [...this.jobs.values()][0] : this.jobs.get(ref);
    if (job === undefined) throw new Error(`no job ${ref ?? ''}`);
    return job;
  }

  set(snapshot: JobSnapshot, ref?: string): void {
    const job = this.job(ref);
    job.snapshot = snapshot;
    this.#ring(job.id);
  }

  ask(questions: Record<string, Question>, ref?: string): void {
    this.set({ state: 'input', questions }, ref);
  }

  finish(text = 'done', ref?: string): void {
    this.set({ state: 'done', outcome: 'ok', result: { content: [{ type: 'text', text }] } }, ref);
  }

  /** Jobs that are started from now on are not shown, until the returned function is called. */
  hide(): () => void {
    this.#catchesUp = true;
    return () => {
      this.#catchesUp = false;
      this.#hidden.clear();
    };
  }

  /** What it tells whoever wants to know about a job, or what somebody says who is not it. */
  webhook(ref: string, authentic: boolean): Request {
    const headers = { authorization: authentic ? SECRET : 'guessed' };
    return new Request('http://127.0.0.1/hook', { method: 'POST', headers, body: JSON.stringify({ ref, over: true }) });
  }

  count(method: Method): number {
    return this.asked.filter((asked) => asked.method === method).length;
  }

  /** Resolves once `method` was asked `count` times. */
  async until(method: Method, count = 1): Promise<void> {
    while (this.count(method) < count) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #start(
    args: JsonObject,
    context: JobContext,
    { idempotentStart, derived }: Partial<JobCaps> & { derived?: boolean },
  ): string {
    const { idempotencyKey } = context;
    const known = this.#idOf(context, derived === true);
    if (known !== undefined && idempotentStart === true) return known;
    const id = derived === true ? `job-${idempotencyKey}` : `job-${this.jobs.size + 1}`;
    this.byKey.set(idempotencyKey, id);
    const job = { id, args, snapshot: this.first, cancelled: false, answers: {}, lines: [] };
    this.jobs.set(id, job);
    this.all.push(job);
    if (this.#catchesUp) this.#hidden.add(id);
    return id;
  }

  /** The job of a key as it can be looked for. @throws while one may be there that is not shown yet */
  #found(context: JobContext, derived: boolean): string | undefined {
    const id = this.#idOf(context, derived);
    if (id !== undefined && !this.#hidden.has(id)) return id;
    if (this.#catchesUp) throw new Error('the index is behind');
    return undefined;
  }

  #idOf({ idempotencyKey }: JobContext, derived: boolean): string | undefined {
    const id = derived ? `job-${idempotencyKey}` : this.byKey.get(idempotencyKey);
    return id !== undefined && this.jobs.has(id) ? id : undefined;
  }

  #snapshot(ref: string): JobSnapshot {
    if (this.#hidden.has(ref)) return { state: 'working' };
    return this.jobs.get(ref)?.snapshot ?? { state: 'lost', message: 'the service does not know it (404)' };
  }

  #ring(ref: string): void {
    const ringers = this.#ringers.get(ref);
    this.#ringers.delete(ref);
    for (const ring of ringers ?? []) ring();
  }

  async #do<Value>(method: Method, ref: string | undefined, context: JobContext, work: () => Value): Promise<Value> {
    const { idempotencyKey: key, startNumber } = context;
    this.asked.push({ method, key, startNumber, ...(ref !== undefined && { ref }) });
    for (const wake of [...this.#waiting]) {
      this.#waiting.delete(wake);
      wake();
    }
    await this.onRequest(method, context);
    const fault = this.faults.find((one) => one.method === method);
    if (fault !== undefined) this.faults.splice(this.faults.indexOf(fault), 1);
    if (fault?.when === 'before') throw fault.error;
    const value = work();
    if (fault !== undefined) throw fault.error;
    return value;
  }
}

function isOver({ snapshot }: ServiceJob): boolean {
  return snapshot.state !== 'working' && snapshot.state !== 'input';
}

/** What a service says that is too busy. */
export function busy(retryAfterMs?: number, mayHaveStarted = false): Error {
  return Object.assign(new Error('HTTP 429'), { mayHaveStarted, ...(retryAfterMs !== undefined && { retryAfterMs }) });
}
