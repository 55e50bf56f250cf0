import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { text } from '../../../src/engine/index.ts';
import { openGateway } from '../../../src/gateway/gateway.ts';
import { validated } from '../../server/peer.ts';
import { LinePeer } from '../../support/line-peer.ts';
import type { Json } from '../../support/messages.ts';
import { stateFolder, upstream, upstreamOf } from './stage.ts';

async function client(): Promise<LinePeer> {
  const { target } = await upstreamOf('2026-07-28', (tasks) => {
    tasks.registerTool('slow', { task: { onWorkerLost: 'rerun' } }, async () => text('done'));
  });
  const gateway = await openGateway({
    stateFolder: stateFolder(),
    config: { inlineWithinMs: 0, upstreams: [upstream(target)] },
  });
  onTestFinished(() => gateway.close());
  const [input, output] = [new PassThrough(), new PassThrough()];
  gateway.serve({ input, output });
  return new LinePeer({ input: output, output: input }, validated());
}

// The first client of a new gateway: nothing was listed before it came.
describe('one client on a pair of streams', () => {
  it('has tasks by 2026-07-28, in the first request that it sends [GW-16]', async () => {
    const peer = await client();
    const { result } = await peer.call('slow');
    expect(result).toMatchObject({ resultType: 'task' });
    const { taskId } = result as { taskId: string };
    const get = async (): Promise<Json> => (await peer.send('tasks/get', { taskId })).result;
    let task = await get();
    while (task['status'] === 'working') task = await get();
    expect(task).toMatchObject({ status: 'completed', result: { content: [{ type: 'text', text: 'done' }] } });
  });

  it('has tasks by 2025-11-25, and is told so at once [GW-16]', async () => {
    const peer = await client();
    const { result: hello } = await peer.initialize({});
    expect(hello['capabilities']).toMatchObject({ tasks: { requests: { tools: { call: {} } }, cancel: {}, list: {} } });
    const ask = (id: number, method: string, params: Json): Promise<Json> =>
      peer.ask({ jsonrpc: '2.0', id, method, params });
    const { result: listed } = await ask(1, 'tools/list', {});
    expect((listed as { tools: Json[] }).tools[0]).toMatchObject({
      name: 'slow',
      execution: { taskSupport: 'optional' },
    });
    const { result: handle } = await ask(2, 'tools/call', { name: 'slow', task: {} });
    const { taskId } = (handle as { task: { taskId: string } }).task;
    const { result } = await ask(3, 'tasks/result', { taskId });
    expect(result).toMatchObject({ content: [{ type: 'text', text: 'done' }] });
  });
});
