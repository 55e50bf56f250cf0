import { expect, it } from 'vitest';
import { type JsonObject, LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { text } from '../../src/engine/index.ts';
import { someTasks } from '../support/engine.ts';

it('runs work that is no tool as a task like any other [G3-S-07]', async () => {
  const { tasks } = someTasks();
  tasks.registerTool('a tool', {}, () => text(''));
  const base = tasks.tools[0]!.definition;
  const run = async (input: unknown): Promise<JsonObject> => ({ messages: [], asked: input as JsonObject });
  const definition = { ...base, method: 'prompts/get', name: 'greet', run };
  tasks.engine.registry.add(definition);
  const { task } = await tasks.engine.create({
    definition,
    principal: LOCAL_PRINCIPAL,
    input: { name: 'Ada' },
    revision: '2026-07-28',
    abilities: { form: false },
  });
  const ended = await tasks.engine.wait(task.taskId, LOCAL_PRINCIPAL);
  expect(ended).toMatchObject({ method: 'prompts/get', state: { result: { asked: { name: 'Ada' } } } });
  await tasks.close();
});
