import { type StoreBackend, sqliteStore, type TaskStore } from '../../src/store/index.ts';

export type Intercept = <Value>(method: keyof TaskStore, call: () => Promise<Value>) => Promise<Value>;

/** A store in memory, each call of which goes through `intercept`: to fail it, or to do something right after it. */
export function interceptedStore(intercept: Intercept): StoreBackend {
  return {
    async open(environment) {
      const { store, dispatcher } = await sqliteStore(':memory:').open(environment);
      const intercepted = new Proxy(store, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          return (...args: unknown[]) => intercept(name as keyof TaskStore, () => member.apply(target, args));
        },
      });
      return { store: intercepted, dispatcher };
    },
  };
}
