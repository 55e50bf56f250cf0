import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { onEachTransport } from '../support/on-each-transport.ts';
import type { Answers, TaskClient } from '../support/task-client.ts';

await onEachTransport(new URL('server.ts', import.meta.url), async (client) => {
  const said = await deploy(client, { action: 'accept', content: { window: 'tonight', note: 'after the sale' } });
  assert.equal(said, 'shop:1.4.0 goes live tonight (after the sale)');

  const refused = await deploy(client, { action: 'decline' });
  assert.equal(refused, 'shop:1.4.0 is built and was not deployed');
});

/** Calls the tool, gives `answer` when it asks, and returns what it says in the end. */
async function deploy(client: TaskClient, answer: Answers[string]): Promise<string> {
  const called = await client.call('deploy', { version: '1.4.0' });
  assert('task' in called);
  let { task } = called;
  while (task.status === 'working' || task.status === 'input_required') {
    for (const [key, { params }] of Object.entries(task.inputRequests ?? {})) {
      console.log(`  ${key}: ${params.message} ${answer.action}`);
      await client.update(task.taskId, { [key]: answer });
    }
    await setTimeout(task.pollIntervalMs);
    task = await client.get(task.taskId);
  }
  assert.equal(task.status, 'completed', task.error?.message);
  const said = task.result?.content[0]?.text ?? '';
  console.log(`  ${task.status}: ${said}`);
  return said;
}
