import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import type { Json } from '../support/messages.ts';
import { serve } from './peer.ts';

const POISON = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}';
/** As it comes off the wire: a member of its own, which an object literal cannot have. */
const poison = (): Json => JSON.parse(POISON) as Json;

function register(tasks: Tasks): void {
  tasks.registerTool('echo', { inputSchema: z.looseObject({}) }, (args) => text(JSON.stringify(args)));
  tasks.registerTool('asks', {}, async (_args, task) => {
    const schema = z.object({ ok: z.boolean() });
    return text(JSON.stringify(await task.ask('go', { message: 'Go on?', schema })));
  });
}

/** Nothing that any message says becomes a member of every object. */
afterEach(() => {
  expect(({} as Json)['polluted']).toBeUndefined();
  expect(([] as unknown as Json)['polluted']).toBeUndefined();
  expect(Object.keys(Object.prototype)).toEqual([]);
});

describe('members named like the machinery of objects', () => {
  it.each(['arguments', '_meta', 'capabilities', 'client info'])('do nothing in %s of a call', async (where) => {
    const { peer, reaches } = serve(register);
    const message = peer.request('tools/call', { name: 'echo', arguments: {} });
    const params = message['params'] as Json & { _meta: Json };
    const prefix = 'io.modelcontextprotocol/';
    if (where === 'arguments') params['arguments'] = poison();
    else if (where === '_meta') Object.defineProperties(params._meta, Object.getOwnPropertyDescriptors(poison()));
    else if (where === 'capabilities') {
      const capabilities = params._meta[`${prefix}clientCapabilities`] as Json;
      Object.defineProperties(capabilities, Object.getOwnPropertyDescriptors(poison()));
    } else {
      params._meta[`${prefix}clientInfo`] = { name: 'x', version: '1', ...poison() };
    }
    expect(JSON.stringify(message)).toContain('{"polluted":true}');
    const { result } = await peer.post(message);
    const done = await reaches(String(result['taskId']), 'completed');
    expect(done['status']).toBe('completed');
  });

  it('are kept out of arguments that a handler sees as its own, or are plain members there', async () => {
    const { peer, reaches } = serve(register);
    const message = peer.request('tools/call', { name: 'echo', arguments: poison() });
    const { result } = await peer.post(message);
    const done = await reaches(String(result['taskId']), 'completed');
    const [content] = (done['result'] as { content: { text: string }[] }).content;
    const seen = JSON.parse(content!.text) as Json;
    expect(Object.getPrototypeOf(seen)).toBe(Object.prototype);
    expect(seen['polluted']).toBeUndefined();
  });

  it('answer no question, and open none', async () => {
    const { peer, when, reaches } = serve(register);
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} }, elicitation: { form: {} } };
    const { taskId } = await peer.start('asks', {}, { capabilities });
    await when(taskId, ({ status }) => status === 'input_required');
    const forged = JSON.parse('{"__proto__":{"go":{"action":"accept","content":{"ok":true}}},"constructor":1}') as Json;
    expect((await peer.update(taskId, forged)).result).toMatchObject({ resultType: 'complete' });
    expect((await peer.get(taskId)).result).toMatchObject({ status: 'input_required' });
    const answer = { action: 'accept', content: JSON.parse('{"ok":true,"__proto__":{"polluted":true}}') as Json };
    await peer.update(taskId, { go: answer });
    const done = await reaches(taskId, 'completed');
    expect(done['status']).toBe('completed');
  });
});
