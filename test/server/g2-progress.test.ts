import { describe, expect, it } from 'vitest';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, pass, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { isAnswer, LegacyPeer, type Reading } from './legacy-peer.ts';
import { type Served, serve } from './peer.ts';

// Progress of a task of 2025-11-25: under the token of the call that made it, until it is over.

const RELATED = 'io.modelcontextprotocol/related-task';
const isProgress = (message: Json) => message['method'] === 'notifications/progress';
const numbers = ({ seen }: Reading) => seen.filter(isProgress).map(({ params }) => (params as Json)['progress']);

/** A tool that reports when it is told to. */
function reporting() {
  const gates = [deferred(), deferred(), deferred()];
  const served = serve((tasks: Tasks) =>
    tasks.registerTool('counts', {}, async (_args, task) => {
      for (const [n, gate] of gates.entries()) {
        await gate.promise;
        task.progress(n + 1, 3, `part ${n + 1}`);
      }
      return text('done');
    }),
  );
  const open = async (n: number) => {
    gates[n]!.resolve();
    await settle();
    await pass(served.clock, 100); // What is reported is written at most ten times a second.
  };
  return { served, open };
}

const over = [
  ['with a session', (served: Served) => LegacyPeer.connect(served)],
  ['without one', async (served: Served) => LegacyPeer.stateless(served, '2025-11-25')],
] as const;

describe.each(over)('progress over HTTP, %s', (_, connect) => {
  it('goes on after the handle, under the token of the call, until the end [G2-S-32] [G2-S-37] [G2-S-38]', async () => {
    const { served, open } = reporting();
    const peer = await connect(served);
    const { taskId } = await peer.start('counts', {}, {}, { _meta: { progressToken: 'mine' } });
    const stream = await peer.follow('tasks/result', { taskId });
    for (const n of [0, 1, 2]) await open(n);
    await stream.first(isAnswer);
    await stream.ended;
    const first = stream.seen[0];
    expect(first).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 'mine', progress: 1, total: 3, message: 'part 1', _meta: { [RELATED]: { taskId } } },
    });
    expect(isAnswer(stream.seen.at(-1)!)).toBe(true); // Nothing follows it.
    expect(numbers(stream)).toEqual([1, 2, 3].slice(0, numbers(stream).length));
    expect(numbers(stream).length).toBeGreaterThanOrEqual(2);
    const { others } = await peer.send('tasks/result', { taskId });
    expect(others).toEqual([]);
  });

  it('is not sent to who gave no token', async () => {
    const { served, open } = reporting();
    const peer = await connect(served);
    const { taskId } = await peer.start('counts');
    const stream = await peer.follow('tasks/result', { taskId, _meta: { progressToken: 'of the wait' } });
    for (const n of [0, 1, 2]) await open(n);
    await stream.ended;
    expect(numbers(stream)).toEqual([]);
  });

  it('is not sent to another session, which may use the token for something else', async () => {
    const { served, open } = reporting();
    const peer = await connect(served);
    const other = await LegacyPeer.connect(served);
    const { taskId } = await peer.start('counts', {}, {}, { _meta: { progressToken: 5 } });
    const own = await peer.follow('tasks/result', { taskId });
    await open(0);
    const stream = await other.follow('tasks/result', { taskId });
    for (const n of [1, 2]) await open(n);
    await Promise.all([own.ended, stream.ended]);
    expect(numbers(own)[0]).toBe(1);
    expect(numbers(stream)).toEqual([]);
  });

  it('rises over all streams together, each number on one of them [G2-S-68]', async () => {
    const { served, open } = reporting();
    const peer = await connect(served);
    const { taskId } = await peer.start('counts', {}, {}, { _meta: { progressToken: 5 } });
    const older = await peer.follow('tasks/result', { taskId });
    await open(0);
    const leave = new AbortController();
    const newest = await peer.follow('tasks/result', { taskId }, leave.signal);
    await settle();
    await open(1);
    expect([numbers(older), numbers(newest)]).toEqual([[1], [2]]);
    leave.abort();
    await newest.ended;
    const next = await peer.follow('tasks/result', { taskId });
    await settle();
    expect(numbers(next)).toEqual([]);
    await open(2);
    await Promise.all([older.ended, next.ended]);
    expect([...numbers(older), ...numbers(newest)]).toEqual([1, 2]);
  });
});

describe('progress that nobody fetches', () => {
  it('goes out on the channel of its session, and what went out there is not told again [G2-S-37] [G2-S-68]', async () => {
    const { served, open } = reporting();
    const peer = await LegacyPeer.connect(served);
    const channel = await peer.channel();
    const { taskId } = await peer.start('counts', {}, {}, { _meta: { progressToken: 'mine' } });
    await open(0);
    expect(numbers(channel)).toEqual([1]);
    const stream = await peer.follow('tasks/result', { taskId });
    await settle();
    await open(1);
    expect([numbers(channel), numbers(stream)]).toEqual([[1], [2]]);
    await open(2);
    await stream.ended;
    await settle();
    expect(numbers(channel)).toEqual([1]);
  });
});
