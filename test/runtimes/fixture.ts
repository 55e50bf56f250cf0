import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { LOCAL_PRINCIPAL, type TaskRecord } from '../../src/core/index.ts';
import { type TaskContext, text } from '../../src/engine/index.ts';
import type { TaskServerOptions } from '../../src/server/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import { countWatches } from '../server/listener.ts';
import { over, Peer, type Served, serve, validated } from '../server/peer.ts';
import { deferred, settle } from '../support/engine.ts';
import { type Before, type Mounted, mount, type Runtime } from './mounts.ts';

export const plain = { capabilities: {} };

/** Server and network take turns until something is so. */
export async function until(happened: () => boolean | Promise<boolean>, what = 'it'): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (!(await happened())) {
    if (performance.now() > deadline) throw new Error(`${what} does not happen`);
    await settle(1);
  }
}

export interface Running extends Served {
  http: Mounted;
  /** A client that sends over the network. */
  far: Peer;
  /** The tasks there are. */
  all(): Promise<TaskRecord[]>;
  /** The run of the tool `slow`, once it has begun. */
  slow: Promise<TaskContext>;
  /** Lets the tool `slow` end. */
  goOn(): void;
  /** Nothing is left of any request: nobody waits for news of a task, and no stream is open. */
  quiet(): Promise<void>;
}

/** How many streams are open: each one has a timer for its next comment, and nothing else has one of that length. */
function countStreams(clock: ManualClock): { readonly open: number } {
  const setTimer = clock.setTimer.bind(clock);
  const running = new Set<object>();
  clock.setTimer = (ms, action) => {
    if (ms !== 15_000) return setTimer(ms, action);
    const timer = setTimer(ms, () => {
      running.delete(mine);
      action();
    });
    const mine = {
      cancel: () => {
        running.delete(mine);
        timer.cancel();
      },
    };
    running.add(mine);
    return mine;
  };
  return {
    get open() {
      return running.size;
    },
  };
}

/** A server with a few tools inside a runtime. */
export async function running(
  runtime: Runtime,
  options: { server?: TaskServerOptions; before?: Before } = {},
): Promise<Running> {
  const slow = deferred<TaskContext>();
  const go = deferred();
  const served = serve((tasks) => {
    tasks.registerTool('quick', {}, () => text('quick'));
    tasks.registerTool('big', { inputSchema: z.object({ mib: z.number() }) }, ({ mib }) =>
      text('y'.repeat(mib * 1024 * 1024)),
    );
    tasks.registerTool('asks', {}, async (_args, task) => {
      const answer = await task.ask('sure', { message: 'Sure?', schema: z.object({ ok: z.boolean() }) });
      return text(answer.action);
    });
    const inputSchema = z.object({ mib: z.number().default(0) });
    tasks.registerTool('slow', { inputSchema, task: { onWorkerLost: 'resume' } }, async ({ mib }, task) => {
      slow.resolve(task);
      await Promise.race([go.promise, new Promise((resolve) => task.signal.addEventListener('abort', resolve))]);
      return text(mib === 0 ? 'done' : 'y'.repeat(mib * 1024 * 1024));
    });
  }, options);
  await served.peer.send('tools/list', {}); // What is made once is there by now.
  const http = await mount(runtime, served.server, options.before);
  onTestFinished(() => http.close());
  const far = new Peer(over(http.url), validated());
  await far.send('tools/list', {});
  const watches = countWatches(served.tasks);
  const streams = countStreams(served.clock);
  return {
    ...served,
    http,
    far,
    all: async () => (await served.tasks.engine.list(LOCAL_PRINCIPAL, { limit: 50 })).tasks,
    slow: slow.promise,
    goOn: () => go.resolve(),
    quiet: () =>
      until(
        () => watches.open === 0 && streams.open === 0,
        `that all is let go of: ${watches.open} watches, ${streams.open} streams`,
      ),
  };
}
