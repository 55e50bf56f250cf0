import type { TaskStore } from '../../src/store/index.ts';
import type { Broken } from './findings.ts';
import type { Served } from './targets.ts';
import type { World } from './world.ts';

/** A bug that fuzzing must find, put around a server or its store from outside. */
export interface Plant {
  name: string;
  /** What must be seen broken. */
  breaks: Broken;
  /** Wraps the store. */
  store?(store: TaskStore): TaskStore;
  /** Wraps what answers requests. */
  serve?(served: Served, world: World): Served;
}

export const plants: readonly Plant[] = [
  {
    name: 'a foreign id is answered in other words',
    breaks: 'foreign',
    serve: (served, world) =>
      rewriting(served, (text, asked) => (names(asked, world) ? text.replaceAll('Task not found', 'Not yours') : text)),
  },
  {
    name: 'a foreign id is answered with another header',
    breaks: 'foreign',
    serve: (served, world) => ({
      ...served,
      async fetch(request, as) {
        const asked = await request.clone().text();
        const response = await served.fetch(request, as);
        const headers = new Headers(response.headers);
        if (names(asked, world)) headers.set('x-known', 'yes');
        return new Response(response.body, { status: response.status, headers });
      },
    }),
  },
  {
    name: 'a foreign id costs one more query',
    breaks: 'foreign',
    store: (store) =>
      override(store, {
        async get(taskId, principal) {
          const found = await store.get(taskId, principal);
          if (found === undefined && (await store.inspect(taskId)) !== undefined) await store.attempts(taskId);
          return found;
        },
      }),
  },
  {
    name: 'a foreign id makes another line of the log',
    breaks: 'foreign',
    serve: (served, world) =>
      before(served, (asked) => {
        if (names(asked, world)) world.log.logger.info({}, 'somebody asks for a task of another');
      }),
  },
  {
    name: "somebody else's task can be read",
    breaks: 'foreign',
    store: (store) =>
      override(store, {
        async get(taskId, principal) {
          const owner = (await store.inspect(taskId))?.principal;
          return store.get(taskId, owner ?? principal);
        },
      }),
  },
  {
    name: 'a request is never answered',
    breaks: 'hang',
    serve: (served) => ({
      ...served,
      async fetch(request, as) {
        const asked = await request.clone().text();
        return asked.includes('"tools/list"') ? new Promise<never>(() => {}) : served.fetch(request, as);
      },
    }),
  },
  {
    name: 'a stream goes on without its reader',
    breaks: 'held',
    serve: (served, world) =>
      before(served, (asked) => {
        if (asked.includes('"tasks/result"')) world.tasks.engine.watch('tsk_any', () => {});
      }),
  },
  {
    name: 'a stream ends without its answer',
    breaks: 'answer',
    serve: (served) =>
      rewriting(served, (text) => text.replace(/^event: message\ndata: .*"id":.*\n\n$/, ': nothing\n\n')),
  },
  {
    name: 'an answer is for another request',
    breaks: 'schema',
    serve: (served) => rewriting(served, (text) => text.replace('"id":1}', '"id":2}')),
  },
  {
    name: 'an answer breaks its schema',
    breaks: 'schema',
    serve: (served) => rewriting(served, (text) => text.replace('"lastUpdatedAt"', '"updatedAt"')),
  },
  {
    name: 'a request fails',
    breaks: 'failed',
    serve: (served) =>
      before(served, (asked) => {
        if (asked.includes('"ping"')) throw new Error('no');
      }),
  },
  {
    name: 'bad input is an error of the server',
    breaks: 'internal error',
    serve: (served) => rewriting(served, (text) => text.replace('"code":-32602', '"code":-32603')),
  },
  {
    name: 'bad input is an HTTP error of the server',
    breaks: 'status',
    serve: (served) => ({
      ...served,
      async fetch(request, as) {
        const { body, status, headers } = await served.fetch(request, as);
        return new Response(body, { status: status === 400 ? 500 : status, headers });
      },
    }),
  },
  {
    name: 'a stack gets out',
    breaks: 'private text',
    serve: (served) =>
      rewriting(served, (text) => text.replace('not found"', 'not found\\n    at get (/app/src/store.ts:1:2)"')),
  },
  {
    name: 'a timer is never cancelled',
    breaks: 'held',
    serve: (served, world) => before(served, () => void world.clock.setTimer(1e12, () => {})),
  },
  {
    name: 'a rejection is nobody’s',
    breaks: 'process',
    serve: (served) => before(served, () => void Promise.reject(new Error('unheard'))),
  },
  {
    name: 'something is written past the logger',
    breaks: 'process',
    serve: (served) => before(served, () => console.error('unheard')),
  },
  {
    name: 'an error is logged that nobody asked for',
    breaks: 'log',
    serve: (served, world) => before(served, () => world.log.logger.error({}, 'broken')),
  },
  {
    name: 'a task is never finished',
    breaks: 'store',
    store: (store) => override(store, { finish: async () => 'applied' }),
  },
  {
    name: 'what is over changes',
    breaks: 'store',
    store: (store) => {
      let looks = 0;
      return override(store, {
        async payloads(taskId) {
          looks += 1;
          const payloads = await store.payloads(taskId);
          return payloads && { ...payloads, result: { looks } };
        },
      });
    },
  },
];

/** Whether a message speaks of a task that somebody has. */
function names(asked: string, world: World): boolean {
  return world.everyTask.some((taskId) => asked.includes(taskId));
}

function before(served: Served, act: (asked: string) => void): Served {
  return {
    ...served,
    async fetch(request, as) {
      act(await request.clone().text());
      return served.fetch(request, as);
    },
  };
}

function rewriting(served: Served, change: (text: string, asked: string) => string): Served {
  return {
    ...served,
    async fetch(request, as) {
      const asked = await request.clone().text();
      const { body, status, headers } = await served.fetch(request, as);
      if (body === null) return new Response(null, { status, headers });
      const decoder = new TextDecoder();
      const encoder = new TextEncoder();
      const changing = new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) =>
          controller.enqueue(encoder.encode(change(decoder.decode(chunk, { stream: true }), asked))),
      });
      return new Response(body.pipeThrough(changing), { status, headers });
    },
  };
}

function override(store: TaskStore, changes: Partial<TaskStore>): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(name in changes ? changes : target, name) as unknown;
      return typeof value === 'function' ? value.bind(name in changes ? changes : target) : value;
    },
  });
}
