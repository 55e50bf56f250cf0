import { createRequestStateCodec, inputRequired } from '@modelcontextprotocol/server';
import { expect, it } from 'vitest';
import { text } from '../../src/engine/index.ts';
import { serve } from './peer.ts';

it('verifies what a prepare hook handed out before the hook sees it again [G3-S-90]', async () => {
  const codec = createRequestStateCodec<{ step: number }>({ key: 'k'.repeat(32) });
  const seen: unknown[] = [];
  const { peer } = serve(
    (tasks) =>
      tasks.registerTool(
        'rounds',
        {
          task: {
            prepare: async (_args, { state, canAsk }) => {
              seen.push(canAsk, state);
              if (state !== undefined) return {};
              return { respond: inputRequired({ requestState: await codec.mint({ step: 1 }) }) };
            },
          },
        },
        () => text('done'),
      ),
    { server: { requestState: { verify: codec.verify } } },
  );
  const { result } = await peer.call('rounds');
  const params = { name: 'rounds', arguments: {}, requestState: result['requestState'] };
  expect((await peer.send('tools/call', params)).result).toMatchObject({ resultType: 'task' });
  expect(seen).toEqual([true, undefined, true, { step: 1 }]);
  const forged = await peer.send('tools/call', { ...params, requestState: 'forged' });
  expect(forged.result).toBeUndefined();
  expect(seen).toHaveLength(4);
});
