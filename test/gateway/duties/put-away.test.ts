import { expect, it } from 'vitest';
import { text } from '../../../src/engine/index.ts';
import { LegacyPeer } from '../../server/legacy-peer.ts';
import { deferred } from '../../support/engine.ts';
import { gatewayOf, until, upstream, upstreamOf } from './stage.ts';

it('waits where the upstream puts a call away that is to be passed through [C-084]', async () => {
  const gate = deferred();
  const { target, of } = await upstreamOf(
    '2026-07-28',
    (tasks) => {
      tasks.registerTool('slow', { task: { onWorkerLost: 'rerun' } }, async () => {
        await gate.promise;
        return text('done');
      });
    },
    { server: { fallback: { detachAfterMs: 50 } } },
  );
  const standing = await gatewayOf({ upstreams: [upstream(target, { policy: { mode: 'direct' } })] });
  const names = ((await standing.peer.send('tools/list', {})).result['tools'] as { name: string }[]).map(
    ({ name }) => name,
  );
  expect(names).toEqual(['slow']);
  const session = await LegacyPeer.connect(standing);
  const answer = session.call('slow');
  await until(() => of('tools/call').length >= 2); // It is asked for by the upstream's own tool.
  gate.resolve();
  expect((await answer).result).toMatchObject({ content: [{ text: 'done' }] });
});
