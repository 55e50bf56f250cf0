import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { onEachTransport } from '../support/on-each-transport.ts';

await onEachTransport(new URL('server.ts', import.meta.url), async (client) => {
  const answer = await client.call('transcode', { frames: 500 });
  assert('task' in answer, 'a client with tasks gets a task, not the result');

  let { task } = answer;
  let shown: string | undefined;
  while (task.status === 'working') {
    await setTimeout(task.pollIntervalMs);
    task = await client.get(task.taskId);
    if (task.statusMessage !== undefined && task.statusMessage !== shown) console.log(`  ${task.statusMessage}`);
    shown = task.statusMessage;
  }

  assert.equal(task.status, 'completed');
  assert.deepEqual(task.result?.content, [{ type: 'text', text: '500 frames' }]);
  console.log(`  ${task.status}: 500 frames`);
});
