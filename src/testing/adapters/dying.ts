import type { JobAdapter, JsonValue } from '../../core/index.ts';
import type { StoreBackend, TaskStore } from '../../store/index.ts';

const NEVER = new Promise<never>(() => {});

/** Where a process dies that has a job done: around a call of its store, or of its adapter. */
export type Point =
  | { at: 'recordStep' | 'finish'; nth: number; when: 'before' | 'after' }
  | { at: AdapterMethod; when: 'before' | 'after' };

export type AdapterMethod = 'start' | 'find' | 'poll' | 'answer' | 'logs';

const METHODS = ['start', 'find', 'poll', 'answer', 'logs', 'cancel', 'release', 'changed'] as const;

export interface Death {
  dead: boolean;
  kill: () => void;
}

/** A store whose process dies around one of its calls; that call and all after it never return. */
export function dyingStore(backend: StoreBackend, point: Point | undefined, death: Death): StoreBackend {
  if (point === undefined || !('nth' in point)) return backend;
  let calls = 0;
  return {
    async open(environment) {
      const { store, dispatcher } = await backend.open(environment);
      const dying = new Proxy(store, {
        get(target, name) {
          const member = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
          if (name !== point.at) return member;
          return async (...args: unknown[]) => {
            calls += 1;
            if (calls !== point.nth) return member.apply(target, args);
            if (point.when === 'after') await member.apply(target, args);
            death.kill();
            return NEVER;
          };
        },
      }) as TaskStore;
      return { store: dying, dispatcher };
    },
  };
}

/** An adapter in a process that dies around one of its calls; nothing that it does afterwards arrives. */
export function dyingAdapter<Args, Ref extends JsonValue>(
  adapter: JobAdapter<Args, Ref>,
  point: Point | undefined,
  death: Death,
): JobAdapter<Args, Ref> {
  const dying: Record<string, unknown> = {};
  for (const method of METHODS) {
    const own = adapter[method]?.bind(adapter) as ((...args: unknown[]) => Promise<unknown>) | undefined;
    if (own === undefined) continue;
    dying[method] = async (...args: unknown[]) => {
      if (death.dead) return NEVER;
      if (point?.at !== method) return own(...args);
      if (point.when === 'after') await own(...args);
      death.kill();
      return NEVER;
    };
  }
  const { kind, caps } = adapter;
  const refOf = adapter.refOf?.bind(adapter);
  return { ...(dying as unknown as JobAdapter<Args, Ref>), kind, caps, ...(refOf !== undefined && { refOf }) };
}
