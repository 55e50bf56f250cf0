import { type JobEnd, type JobSnapshot, type JsonValue, NonRetryableError } from '../../core/index.ts';
import type { JobState } from './job-state.ts';
import { napFor } from './nap-for.ts';
import type { OneStart } from './one-start.ts';
import { troubled } from './trouble.ts';

/** What is recorded of a job that was started. */
type Started<Ref> = { ref: Ref; at: number };

export function startedAs<Ref extends JsonValue>({
  support,
  key,
}: Pick<OneStart<unknown, Ref>, 'support' | 'key'>): Started<Ref> | undefined {
  const [first, later] = ['ref', 'moved'].map((what) => support.recorded(key(what)) as Started<Ref> | undefined);
  return later ?? first;
}

export interface Begun<Ref> {
  ref: Ref;
  /** Where it stands, if that is known already. */
  snapshot?: JobSnapshot | undefined;
}

/**
 * Starts a job, unless it was started before; then what it is known by is on record where that is needed.
 *
 * Two writes bracket a start: that it is about to happen, and what it is known by. Where a repeated start does nothing, the first one
 * is not needed; where the ref follows from the key, neither is, before it takes its time.
 * @throws what `start` throws for good.
 */
export async function beginJob<Args, Ref extends JsonValue>(
  one: OneStart<Args, Ref>,
  state: JobState,
): Promise<Begun<Ref> | { end: JobEnd }> {
  const { adapter, args, context, support } = one;
  const started = startedAs<Ref>(one);
  if (started !== undefined) {
    state.note({ since: started.at });
    keepWithTask(one, started.ref);
    return { ref: started.ref };
  }
  const begun = async (ref: Ref, snapshot?: JobSnapshot): Promise<Begun<Ref>> => {
    if (adapter.refOf === undefined || one.options.whole !== true) await recordRef(one, state, ref);
    return { ref, snapshot };
  };
  const repeatable = adapter.refOf !== undefined || adapter.caps.idempotentStart;
  const intent = new Intent(one, repeatable);
  // An earlier run may have started it without a record.
  let uncertain = intent.stands || (repeatable && support.revived);
  for (;;) {
    try {
      if (uncertain && adapter.find !== undefined) {
        const found = await support.working(async () => adapter.find?.(args, context, intent.at ?? state.now.since));
        if (found !== undefined) {
          keepWithTask(one, found);
          return await begun(found);
        }
        uncertain = false;
        intent.refuted();
      }
      if (uncertain && !adapter.caps.idempotentStart) return { end: NEVER_KNOWN };
      await intent.declare();
      const { ref, snapshot } = await support.working(() => start(one));
      return await begun(ref, snapshot);
    } catch (error) {
      if (one.task.signal.aborted || isForGood(error)) throw error;
      const { mayHaveStarted = true } = error as { mayHaveStarted?: boolean };
      uncertain ||= mayHaveStarted;
      // Or whoever goes on after a wait for which the task is put away would take it for one whose fate is not known.
      if (!uncertain) await intent.retract();
      await napFor(one, state, await troubled(one, state, error));
    }
  }
}

/** The record that a job is about to be started, where a repeated start could do harm. */
class Intent {
  readonly #one: Pick<OneStart<unknown, JsonValue>, 'support' | 'key' | 'name'>;
  readonly #needed: boolean;
  #recorded: boolean;
  #stands: boolean;
  #at: number | undefined;

  constructor(one: Pick<OneStart<unknown, JsonValue>, 'support' | 'key' | 'name'>, repeatable: boolean) {
    this.#one = one;
    this.#needed = !repeatable;
    const recorded = one.support.recorded(one.key('intent'));
    this.#recorded = recorded !== undefined;
    this.#stands = recorded !== undefined && recorded !== false;
    this.#at = intendedAt(recorded);
  }

  get stands(): boolean {
    return this.#stands;
  }

  /** When it was recorded for the last start, in milliseconds since the Unix epoch; `undefined`: nobody wrote that down. */
  get at(): number | undefined {
    return this.#at;
  }

  /** On disk before anything is started. */
  async declare(): Promise<void> {
    if (!this.#needed || this.#stands) return;
    const { support, key, name } = this.#one;
    const at = support.now();
    if (this.#recorded) await support.keep(key('intent'), `start of ${name}`, { at }, { durable: true });
    else await support.record(key('intent'), `start of ${name}`, { at });
    this.#at = at;
    this.#recorded = true;
    this.#stands = true;
  }

  /** What it stands for came to nothing; the next start has a record of its own time. */
  refuted(): void {
    this.#stands = false;
  }

  /** Nothing was started, for certain. */
  async retract(): Promise<void> {
    if (!this.#stands) return;
    const { support, key, name } = this.#one;
    await support.keep(key('intent'), `start of ${name}`, false);
    this.#stands = false;
  }
}

/** From here on whoever takes the task over knows it by this, and need not look for it. */
export async function recordRef<Args, Ref extends JsonValue>(
  { support, key, name }: OneStart<Args, Ref>,
  state: JobState,
  ref: Ref,
): Promise<void> {
  if (support.recorded(key('ref')) !== undefined) return;
  await support.record(key('ref'), name, { ref, at: state.now.since } satisfies Started<Ref>);
}

/** It told by what it is known from now on: also to whoever takes the task over. */
export async function move<Args, Ref extends JsonValue>(
  one: OneStart<Args, Ref>,
  state: JobState,
  ref: Ref,
): Promise<void> {
  const { support, key, name } = one;
  if (support.recorded(key('moved')) !== undefined) return;
  await support.record(key('moved'), `${name} known anew`, { ref, at: state.now.since } satisfies Started<Ref>);
  keepWithTask(one, ref);
}

/** When it was recorded that a job would be started; `undefined`: nobody wrote it down. */
export function intendedAt(intent: unknown): number | undefined {
  const { at } = (intent ?? {}) as { at?: unknown };
  return typeof at === 'number' ? at : undefined;
}

const NEVER_KNOWN: JobEnd = {
  state: 'lost',
  message: 'whether it was started is not known, and it cannot be looked for',
};

/** The job is known to who ends jobs before anything else can happen: the task may be over by now. */
async function start<Args, Ref extends JsonValue>(one: OneStart<Args, Ref>) {
  const { adapter, args, context } = one;
  const derived = adapter.refOf?.(context);
  if (derived !== undefined) keepWithTask(one, derived);
  const started = await adapter.start(args, context);
  if (derived === undefined) keepWithTask(one, started.ref);
  return started;
}

/** Its task's end ends it, from now on. */
function keepWithTask<Args, Ref extends JsonValue>(
  { adapter, support, task, id, context }: OneStart<Args, Ref>,
  ref: Ref,
): void {
  const { caps } = adapter;
  const later = { ...context, signal: new AbortController().signal }; // The run is over then, and its signal too.
  const cancels = caps.endsWithTask !== true && caps.cancel !== 'none' && adapter.cancel !== undefined;
  support.jobs.keep(id, task.id, {
    ...(cancels && { cancel: async () => adapter.cancel?.(ref, later) }),
    ...(adapter.release !== undefined && { release: async () => adapter.release?.(ref, later) }),
  });
}

/** Nothing was started and nothing ever will be. */
function isForGood(error: unknown): boolean {
  return error instanceof NonRetryableError || Number.isSafeInteger((error as { code?: unknown } | null)?.code);
}
