import type { JobAdapter, JobHint, JsonValue, TaskId } from '../../core/index.ts';
import type { History, TaskStore } from '../../store/index.ts';
import { replay } from '../records.ts';
import type { JobKeeper } from './keeper.ts';
import { keyOfStart } from './one-start.ts';

/** Jobs of a tool that may have news, as a request of their service told. */
export interface HintedJobs {
  /** By the keys that they were started under. */
  keys: ReadonlySet<string>;
  /** All keys that jobs of a task may have. */
  keysOf(taskId: TaskId): string[];
  /** What a task recorded shows that one of its jobs is meant; absent: that need not be looked at. */
  isIn?: (history: History) => boolean;
}

/** So many tasks of a tool are looked through at most; where their records have to be read, fewer. */
const MAX_TASKS = 20_000;
const MAX_HISTORIES = 1_000;
const PAGE = 200;

/** `undefined`: the request is not authentic. @param most how many jobs a task may have, and how often each is started */
export async function hintedJobs<Args, Ref extends JsonValue>(
  adapter: JobAdapter<Args, Ref>,
  request: Request,
  most: { jobs: number; starts: number },
): Promise<HintedJobs | undefined> {
  const hints = (await adapter.webhook?.(request)) ?? [];
  if (hints.length === 0) return undefined;
  const refs = hints.flatMap(({ ref }: JobHint<Ref>) => (ref === undefined ? [] : [ref as JsonValue]));
  return {
    keys: new Set(hints.flatMap(({ idempotencyKey }) => idempotencyKey ?? [])),
    keysOf: (taskId) => {
      const places = Array.from({ length: most.jobs }, (_, at) => `${adapter.kind}#${at + 1}`);
      const starts = Array.from({ length: most.starts }, (_, at) => at + 1);
      return places.flatMap((place) => starts.map((start) => keyOfStart(taskId, place, start)));
    },
    ...(refs.length > 0 && {
      isIn: (history) => knownAs(history).some((known) => refs.some((ref) => has(known, ref))),
    }),
  };
}

/**
 * Has open tasks look at their jobs now: those that were put away go on, and those at work here look. One that is at work in another
 * process has its next look in some seconds anyway.
 * @returns how many
 */
export async function wakeHinted(
  name: string,
  hinted: HintedJobs,
  { store, jobs }: { store: TaskStore; jobs: JobKeeper },
): Promise<number> {
  const tasks = new Set<TaskId>();
  const missing = new Set(hinted.keys);
  for (const key of hinted.keys) {
    const taskId = jobs.taskOf(key);
    if (taskId === undefined) continue;
    tasks.add(taskId);
    missing.delete(key);
  }
  const most = hinted.isIn === undefined ? MAX_TASKS : MAX_HISTORIES;
  for await (const taskId of openTasks(store, name, most)) {
    if (missing.size === 0 && hinted.isIn === undefined) break;
    const key = hinted.keysOf(taskId).find((one) => missing.delete(one));
    if (key !== undefined || hinted.isIn?.(await store.history(taskId)) === true) tasks.add(taskId);
  }
  for (const taskId of tasks) {
    for (const key of hinted.keysOf(taskId)) jobs.hinted(key);
    await store.wake(taskId);
  }
  return tasks.size;
}

async function* openTasks(store: TaskStore, name: string, most: number): AsyncGenerator<TaskId> {
  let cursor: string | undefined;
  for (let seen = 0; seen < most; seen += PAGE) {
    const filter = { name, status: ['working', 'input_required'] as const, limit: PAGE };
    const page = await store.list({ ...filter, ...(cursor !== undefined && { cursor }) });
    for (const { taskId } of page.tasks) yield taskId;
    cursor = page.nextCursor;
    if (cursor === undefined) return;
  }
}

/** What jobs of a task are known by. */
function knownAs({ steps }: History): JsonValue[] {
  return steps.flatMap((step) => {
    if (!/^job .* (ref|moved)$/.test(step.key)) return [];
    const { ref } = (replay(step) ?? {}) as { ref?: JsonValue };
    return ref === undefined ? [] : [ref];
  });
}

/** Whether it is the same, or has all of its members. */
function has(known: JsonValue, part: JsonValue): boolean {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return known === part;
  if (typeof known !== 'object' || known === null || Array.isArray(known)) return false;
  const entries = Object.entries(part);
  return entries.length > 0 && entries.every(([name, value]) => known[name] !== undefined && known[name] === value);
}
