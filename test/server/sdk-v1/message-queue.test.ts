import { InMemoryTaskMessageQueue, type QueuedMessage } from '@modelcontextprotocol/sdk/experimental/tasks';
import { describe, expect, it } from 'vitest';
import { taskMessageQueue } from '../../../src/server/sdk-v1/index.ts';

const message = (n: number, text = ''): QueuedMessage => ({
  type: 'notification',
  timestamp: n,
  message: { jsonrpc: '2.0', method: 'notifications/message', params: { n, text } },
});

describe.each([
  { name: 'InMemoryTaskMessageQueue of the SDK', open: () => new InMemoryTaskMessageQueue() },
  { name: 'taskMessageQueue', open: () => taskMessageQueue() },
])('a TaskMessageQueue of the SDK v1: $name', ({ open }) => {
  it('gives each task its messages, first in, first out', async () => {
    const queue = open();
    for (const n of [1, 2, 3]) await queue.enqueue('a', message(n), 's1');
    await queue.enqueue('b', message(9));
    expect(await queue.dequeue('a', 's2')).toEqual(message(1));
    expect(await queue.dequeueAll('a')).toEqual([message(2), message(3)]);
    expect(await queue.dequeueAll('a')).toEqual([]);
    expect(await queue.dequeue('b')).toEqual(message(9));
    expect(await queue.dequeue('b')).toBeUndefined();
    await queue.enqueue('b', message(10));
    expect(await queue.dequeue('b')).toEqual(message(10));
  });

  it('refuses more than the server allows', async () => {
    const queue = open();
    await queue.enqueue('a', message(1), undefined, 1);
    await expect(queue.enqueue('a', message(2), undefined, 1)).rejects.toThrow();
    expect(await queue.dequeueAll('a')).toEqual([message(1)]);
  });
});

describe('taskMessageQueue', () => {
  it('is bounded for each task, and keeps what came first', async () => {
    const queue = taskMessageQueue({ maxPerTask: 2 });
    for (const n of [1, 2]) await queue.enqueue('a', message(n));
    await expect(queue.enqueue('a', message(3))).rejects.toThrow('2 messages of the task wait already');
    await queue.dequeue('a');
    await queue.enqueue('a', message(3));
    expect(await queue.dequeueAll('a')).toEqual([message(2), message(3)]);
  });

  it('drops those of the task that got none for longest', async () => {
    const queue = taskMessageQueue({ maxTasks: 2 });
    await queue.enqueue('a', message(1));
    await queue.enqueue('b', message(2));
    await queue.enqueue('a', message(3));
    await queue.enqueue('c', message(4));
    expect(await queue.dequeueAll('b')).toEqual([]);
    expect(await queue.dequeueAll('a')).toEqual([message(1), message(3)]);
  });

  it('counts bytes, and gives them back', async () => {
    const bytes = Buffer.byteLength(JSON.stringify(message(1, 'x'.repeat(100))));
    const queue = taskMessageQueue({ maxBytes: 2 * bytes });
    const big = (n: number) => message(n, 'x'.repeat(100));
    for (const [task, n] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ] as const)
      await queue.enqueue(task, big(n));
    expect(await queue.dequeueAll('a')).toEqual([]);
    await expect(queue.enqueue('c', message(4, 'x'.repeat(101 + bytes)))).rejects.toThrow('at most');
    expect(await queue.dequeueAll('b')).toEqual([big(2)]);
    await queue.enqueue('d', big(4));
    expect(await queue.dequeue('c')).toEqual(big(3));
    expect(await queue.dequeue('d')).toEqual(big(4));
    await queue.enqueue('e', message(5, 'x'.repeat(100 + bytes)));
    expect(await queue.dequeue('e')).toBeDefined();
  });

  it.each([{ maxPerTask: 0 }, { maxTasks: 1.5 }, { maxBytes: Number.POSITIVE_INFINITY }])('refuses %j', (options) => {
    expect(() => taskMessageQueue(options)).toThrow(/must be a whole number of at least 1/);
  });
});
