import { onTestFinished } from 'vitest';
import type { Tasks } from '../../src/engine/index.ts';
import type { Json } from '../support/messages.ts';
import { events, type Peer, type Sending } from './peer.ts';

export interface Listener {
  /** Of the subscription. */
  id: unknown;
  /** The next message; `undefined` once the stream has ended. */
  next(): Promise<Json | undefined>;
  /** All messages up to the end of the stream. */
  rest(): Promise<Json[]>;
  /** As a client that goes away. */
  leave(): Promise<void>;
}

/** Opens a subscription that is expected to be accepted. The stream is read only as far as it is asked for. */
export async function listener(
  peer: Peer,
  notifications: Json,
  { id, ...sending }: Sending & { id?: string } = {},
): Promise<Listener> {
  const gone = new AbortController();
  const own = peer.request('subscriptions/listen', { notifications }, sending);
  const request = id === undefined ? own : { ...own, id };
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'subscriptions/listen',
    ...sending.headers,
  };
  const response = await peer.open(JSON.stringify(request), { ...sending, headers, signal: gone.signal });
  const messages = events(response);
  const leave = async (): Promise<void> => {
    gone.abort();
    await messages.return(undefined);
  };
  onTestFinished(() => leave().catch(() => {}));
  const next: Listener['next'] = async () => (await messages.next()).value as Json | undefined;
  return {
    id: request['id'],
    next,
    async rest() {
      const all: Json[] = [];
      for (let one = await next(); one !== undefined; one = await next()) all.push(one);
      return all;
    },
    leave,
  };
}

/** How many watches of tasks are open: everyone who waits for news of a task has one. */
export function countWatches(tasks: Tasks): { readonly open: number } {
  const { engine } = tasks;
  const watch = engine.watch.bind(engine);
  let open = 0;
  engine.watch = (taskId, listener) => {
    const unwatch = watch(taskId, listener);
    open += 1;
    let watching = true;
    return () => {
      if (watching) open -= 1;
      watching = false;
      unwatch();
    };
  };
  return {
    get open() {
      return open;
    },
  };
}

/** How often a task was looked at since. */
export function countReads(tasks: Tasks): { readonly count: number } {
  const { engine } = tasks;
  const get = engine.get.bind(engine);
  const reads = { count: 0 };
  engine.get = (taskId, principal) => {
    reads.count += 1;
    return get(taskId, principal);
  };
  return reads;
}
