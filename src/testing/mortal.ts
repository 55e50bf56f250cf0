import type { StoreBackend, TaskStore } from '../store/index.ts';

const NEVER = new Promise<never>(() => {});

export interface Fate {
  /** As SIGKILL: from now on no call reaches the database, none returns, and no bell is heard. */
  kill(): void;
  /** As SIGSTOP: calls and bells wait for `thaw`. */
  freeze(): void;
  /** As SIGCONT. */
  thaw(): void;
}

/**
 * A store as a process sees it that can die or stand still. What had been committed stays. `close` still closes, or the
 * test would leak.
 */
export function mortal(backend: StoreBackend): StoreBackend & Fate {
  let dead = false;
  let frozen: Promise<void> | undefined;
  let thaw = (): void => {};
  let resign = (): void => {};
  const living = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    await frozen;
    return dead ? NEVER : call();
  };
  return {
    kill() {
      dead = true;
      resign(); // The operating system takes the locks of the dead.
    },
    freeze() {
      frozen = new Promise((resolve) => {
        thaw = () => {
          frozen = undefined;
          resolve();
        };
      });
    },
    thaw: () => thaw(),
    async open(environment) {
      const { store, dispatcher } = await backend.open(environment);
      const dying = new Proxy(store, {
        get(target, name) {
          const value = Reflect.get(target, name, target) as unknown;
          if (typeof value !== 'function') return value;
          const call = (...args: unknown[]) => Reflect.apply(value, target, args) as Promise<unknown>;
          if (name === 'enlist') {
            return async (workerId: string) => {
              const enlisted = await target.enlist(workerId);
              resign = enlisted.resign;
              return enlisted;
            };
          }
          return name === 'close' ? call : (...args: unknown[]) => living(() => call(...args));
        },
      }) as TaskStore;
      return {
        store: dying,
        dispatcher: {
          take: (options) => living(() => dispatcher.take(options)),
          onBell: (listener) =>
            dispatcher.onBell((changed) => void living(async () => listener(changed)).catch(() => {})),
        },
      };
    },
  };
}
