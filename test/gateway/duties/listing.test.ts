import { expect, it } from 'vitest';
import { type Tasks, text } from '../../../src/engine/index.ts';
import { LegacyPeer } from '../../server/legacy-peer.ts';
import type { Json } from '../../support/messages.ts';
import { gatewayOf, upstream, upstreamOf } from './stage.ts';

function tools(tasks: Tasks): void {
  const _meta = { 'com.example/colour': 'blue' };
  const title = 'A title';
  const annotations = { readOnlyHint: true, 'com.example/hint': 1 } as object;
  tasks.registerTool('only-task', { _meta, title, annotations, task: { support: 'required' } }, () => text('ran'));
  tasks.registerTool('either', { _meta, title, annotations }, () => text('ran'));
  tasks.registerTool('never', { _meta, title, annotations, task: { support: 'forbidden' } }, () => text('ran'));
}

const listed = (result: Json): Map<unknown, Json> =>
  new Map((result['tools'] as Json[]).map((tool) => [tool['name'], tool]));

it.each(['2026-07-28', '2025-11-25', '2025-06-18'] as const)(
  'lists tools of %s with all that they say, except of tasks [C-084] [GW-16]',
  async (generation) => {
    const { target } = await upstreamOf(generation, tools);
    const standing = await gatewayOf({ upstreams: [upstream(target)] });
    const session = await LegacyPeer.connect(standing);
    const modern = listed((await standing.peer.send('tools/list', {})).result);
    const legacy = listed((await session.send('tools/list')).result);
    for (const name of ['only-task', 'either', 'never']) {
      const said = {
        name,
        title: 'A title',
        _meta: { 'com.example/colour': 'blue' },
        annotations: { readOnlyHint: true },
      };
      expect(modern.get(name)).toMatchObject(said);
      expect(modern.get(name)).not.toHaveProperty('execution');
      expect(modern.get(name)).not.toHaveProperty('annotations.taskHint');
      expect(legacy.get(name)).toMatchObject({ ...said, execution: { taskSupport: 'optional' } });
      expect(legacy.get(name)).not.toHaveProperty('annotations.taskHint');
    }
  },
);

it('makes a task of what is one only, though calls are to be passed through [GW-16] [C-084]', async () => {
  const { target } = await upstreamOf('2025-11-25', tools);
  const standing = await gatewayOf({ upstreams: [upstream(target, { policy: { mode: 'direct' } })] });
  const session = await LegacyPeer.connect(standing);
  const tool = listed((await session.send('tools/list')).result);
  expect(tool.get('only-task')).toMatchObject({ execution: { taskSupport: 'optional' } });
  expect(tool.get('either')).not.toHaveProperty('execution');
  const { taskId } = await session.start('only-task');
  const { result } = await session.send('tasks/result', { taskId });
  expect(result).toMatchObject({ content: [{ type: 'text', text: 'ran' }] });
  expect((await session.call('only-task')).result).toMatchObject({ content: [{ type: 'text', text: 'ran' }] });
});

it('learns from the refusal of an upstream of 2026-07-28 that a tool is a task only [GW-16] [C-084]', async () => {
  const { target, of } = await upstreamOf('2026-07-28', tools, { server: { fallback: { mode: 'refuse' } } });
  const standing = await gatewayOf({ upstreams: [upstream(target, { policy: { mode: 'direct' } })] });
  const { taskId } = await standing.peer.start('only-task');
  expect(await standing.reaches(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'ran' }] } });
  expect(of('tools/call')).toHaveLength(2); // The one that was refused, and the one that ran.
  await standing.peer.start('only-task');
  expect(of('tools/call').length).toBeLessThanOrEqual(3);
  const session = await LegacyPeer.connect(standing);
  expect(listed((await session.send('tools/list')).result).get('only-task')).toHaveProperty('execution');
});

it('passes on what the caller says beside the arguments, the same in each mode [C-084]', async () => {
  const meta = {
    'com.example/tenant': { id: 7 },
    tracestate: 'a=1',
    'io.modelcontextprotocol/related-task': { taskId: 'x' },
  };
  for (const mode of ['direct', 'task'] as const) {
    const { target, of } = await upstreamOf('2026-07-28', tools);
    const standing = await gatewayOf({ upstreams: [upstream(target, { policy: { mode } })] });
    const { result } = await standing.peer.call('either', {}, { meta });
    if (mode === 'task') await standing.reaches(String(result['taskId']), 'completed');
    const [sent] = of('tools/call').map(({ params }) => (params as Json)['_meta'] as Json);
    expect(sent).toMatchObject({ 'com.example/tenant': { id: 7 }, tracestate: 'a=1' });
    expect(sent).not.toHaveProperty('io.modelcontextprotocol/related-task');
  }
});
