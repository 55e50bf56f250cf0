import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type TaskContext, type Tasks, text } from '../../src/engine/index.ts';
import type { Json } from '../support/messages.ts';
import { serve } from './peer.ts';

const ok = z.object({ ok: z.boolean() });
const yes = { action: 'accept', content: { ok: true } };
const no = { action: 'accept', content: { ok: false } };
const extensions = { 'io.modelcontextprotocol/tasks': {} };

/** Asks `a` and `b` at once, and ends with both answers. */
function asksTwo(tasks: Tasks): void {
  tasks.registerTool('asks', {}, async (_args, task) => {
    const answers = await Promise.all(['a', 'b'].map((name) => task.ask(name, { message: `${name}?`, schema: ok })));
    return text(JSON.stringify(answers));
  });
}

async function waiting(register: (tasks: Tasks) => void = asksTwo) {
  const served = serve(register);
  const { taskId } = await served.peer.start('asks');
  const open = async () => Object.keys(((await served.peer.get(taskId)).result['inputRequests'] as Json) ?? {});
  const asked = (count: number) =>
    served.when(taskId, (task) => Object.keys((task['inputRequests'] as Json) ?? {}).length === count);
  const done = async () => {
    const { result } = await served.reaches(taskId, 'completed');
    return JSON.parse((result as { content: { text: string }[] }).content[0]!.text);
  };
  return { ...served, taskId, open, asked, done, update: (answers: unknown) => served.peer.update(taskId, answers) };
}

describe('tasks/update', () => {
  it('is acknowledged with nothing but the kind of the result [G3-S-32] [G3-S-42]', async () => {
    const { asked, update } = await waiting();
    await asked(2);
    const { status, result } = await update({ a: yes, b: no });
    expect(status).toBe(200);
    expect(result).toEqual({
      resultType: 'complete',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'test-server', version: '1.2.3' } },
    });
  });

  it('answers what it answers, and leaves the rest open [G3-S-36] [G3-S-37] [G3-S-18]', async () => {
    const { asked, update, open, done, peer, taskId } = await waiting();
    await asked(2);
    await update({ b: no });
    expect(await open()).toEqual(['a']);
    expect((await peer.get(taskId)).result['status']).toBe('input_required');
    await update({ a: yes });
    expect(await open()).toEqual([]);
    expect(await done()).toEqual([yes, no]);
  });

  it('counts once: whoever comes second is acknowledged and changes nothing [G3-S-35]', async () => {
    const { asked, update, done } = await waiting();
    await asked(2);
    const first = await update({ a: yes });
    const second = await update({ a: no });
    expect(second.result).toEqual(first.result);
    await Promise.all([update({ b: yes }), update({ b: yes }), update({ b: yes })]);
    expect(await done()).toEqual([yes, yes]);
  });

  it.each<[string, unknown]>([
    ['an unknown key', { never: yes }],
    ['nonsense under an unknown key', { never: { ignored: true }, old: 5, more: null, list: [] }],
    [
      'keys that break objects',
      JSON.parse('{"__proto__":{"a":{"action":"cancel"}},"constructor":{"action":"cancel"}}'),
    ],
    ['nothing', {}],
  ])('ignores %s [G3-S-35]', async (_, answers) => {
    const { asked, update, open } = await waiting();
    await asked(2);
    const { status, result } = await update(answers);
    expect({ status, result }).toMatchObject({ status: 200, result: { resultType: 'complete' } });
    expect(await open()).toEqual(['a', 'b']);
  });

  it.each<[string, unknown, string]>([
    ['no object', 'yes', 'inputResponses.b: expected an elicitation result'],
    ['null', null, 'inputResponses.b: expected an elicitation result'],
    ['without an action', {}, "inputResponses.b: action: expected 'accept', 'decline' or 'cancel'"],
    ['of a strange action', { action: 'perhaps' }, 'inputResponses.b: action: expected'],
    ['accepted without content', { action: 'accept' }, 'inputResponses.b: content: expected an object'],
    ['of the wrong type', { action: 'accept', content: { ok: 'yes' } }, 'inputResponses.b: content.ok must be boolean'],
    ['incomplete', { action: 'accept', content: {} }, "inputResponses.b: content must have required property 'ok'"],
    ['a wrapped result', { method: 'elicitation/create', result: yes }, 'inputResponses.b: action: expected'],
    ['a JSON-RPC error', { error: { code: 1, message: 'x' } }, 'inputResponses.b: action: expected'],
  ])('refuses an answer that is %s, and then applies none [G3-S-36]', async (_, bad, message) => {
    const { asked, update, open, done } = await waiting();
    await asked(2);
    const { status, error } = await update({ a: yes, b: bad });
    expect({ status, error }).toEqual({
      status: 200,
      error: { code: -32602, message: expect.stringContaining(message) },
    });
    expect(await open()).toEqual(['a', 'b']);
    await update({ a: no, b: no });
    expect(await done()).toEqual([no, no]);
  });

  it.each<[string, Json]>([
    ['missing', {}],
    ['null', { inputResponses: null }],
    ['a string', { inputResponses: 'yes' }],
    ['a number', { inputResponses: 5 }],
    ['an array', { inputResponses: [yes] }],
  ])('refuses inputResponses that are %s', async (_, params) => {
    const { asked, peer, taskId, open } = await waiting();
    await asked(2);
    const { status, error } = await peer.send('tasks/update', { taskId, ...params });
    expect({ status, error }).toEqual({
      status: 200,
      error: { code: -32602, message: 'params.inputResponses: expected an object' },
    });
    expect(await open()).toEqual(['a', 'b']);
  });

  it('takes no answers from anywhere else', async () => {
    const { asked, peer, taskId, open } = await waiting();
    await asked(2);
    const kept = { 'longcall/inputResponses': { a: yes } };
    expect((await peer.send('tasks/update', { taskId, ...kept })).error.code).toBe(-32602);
    await peer.send('tasks/update', { taskId, inputResponses: {}, ...kept, requestState: 'x' });
    expect(await open()).toEqual(['a', 'b']);
  });

  it.each(['decline', 'cancel'])('may %s a question, whatever else it says', async (action) => {
    const { asked, update, done } = await waiting();
    await asked(2);
    await update({ a: { action, content: { ok: 'ignored' } }, b: { action } });
    expect(await done()).toEqual([{ action }, { action }]);
  });

  it('is acknowledged and ignored once the task is over [G3-S-35] [G3-S-41]', async () => {
    const { asked, update, peer, taskId } = await waiting();
    await asked(2);
    await peer.cancel(taskId);
    const before = (await peer.get(taskId)).result;
    for (const answers of [{ a: yes }, { a: 'nonsense' }, {}]) {
      expect((await update(answers)).result).toMatchObject({ resultType: 'complete' });
    }
    expect((await update(5)).error.code).toBe(-32602);
    expect((await peer.get(taskId)).result).toEqual(before);
  });

  it('is acknowledged and ignored while nothing is asked [G3-S-35]', async () => {
    const { peer } = serve((tasks) => tasks.registerTool('slow', {}, () => new Promise(() => {})));
    const { taskId } = await peer.start('slow');
    expect((await peer.update(taskId, { a: yes })).result).toMatchObject({ resultType: 'complete' });
    expect((await peer.get(taskId)).result['status']).toBe('working');
  });
});

describe('answers of all kinds', () => {
  it('come in any order, twice, late and at once, and each question gets the first that fits [G3-S-35] [G3-S-36] [C-074]', async () => {
    const { asked, update, open, done } = await waiting((tasks) =>
      tasks.registerTool('asks', {}, async (_args, task) => {
        const ask = (name: string) => task.ask(name, { message: `${name}?`, schema: ok });
        const first = await Promise.all(['a', 'b', 'c'].map(ask));
        const second = await Promise.all(['a', 'd'].map(ask));
        return text(JSON.stringify([...first, ...second]));
      }),
    );
    await asked(3);
    await update({ b: yes });
    expect(await open()).toEqual(['a', 'c']);
    await update({ b: no, unknown: yes });
    expect(await open()).toEqual(['a', 'c']);
    await Promise.all([update({ a: yes, c: no }), update({ a: yes, c: no })]); // Two clients at once.
    const [again, d] = Object.keys((await asked(2))['inputRequests'] as Json);
    expect(['a', 'b', 'c']).not.toContain(again);
    await update({ a: no, b: no, c: yes });
    expect(await open()).toEqual([again, d]);
    await update({ [again!]: no, [d!]: { action: 'decline' } });
    expect(await done()).toEqual([yes, yes, no, no, { action: 'decline' }]);
  });
});

describe('keys of questions', () => {
  it('are new each time, also where one question is asked again and again [G3-S-27] [G3-S-28] [G3-S-29]', async () => {
    const keys: string[] = [];
    const { asked, update, done } = await waiting((tasks) =>
      tasks.registerTool('asks', {}, async (_args, task) => {
        for (let round = 0; round < 4; round += 1) await task.ask('again', { message: 'Again?', schema: ok });
        return text('[]');
      }),
    );
    for (let round = 0; round < 4; round += 1) {
      const [key] = Object.keys((await asked(1))['inputRequests'] as Json);
      keys.push(key!);
      expect((await update({ [key!]: yes })).result).toBeDefined();
      // An answer that comes again finds nothing to answer, even though the same thing is asked.
      await update({ [key!]: no });
    }
    expect(new Set(keys).size).toBe(4);
    for (const key of keys) expect(key).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(await done()).toEqual([]);
  });

  it('are new after an answer that the author refuses [G3-S-28]', async () => {
    const schema = z.object({ size: z.number().refine((size) => size % 2 === 0, 'must be even') });
    const { asked, update, done } = await waiting((tasks) =>
      tasks.registerTool('asks', {}, async (_args, task) => {
        const answer = await task.ask('size', { message: 'How big?', schema });
        return text(JSON.stringify(answer));
      }),
    );
    const [first] = Object.keys((await asked(1))['inputRequests'] as Json);
    await update({ [first!]: { action: 'accept', content: { size: 3 } } });
    const again = (await asked(1))['inputRequests'] as Record<string, { params: { message: string } }>;
    const [second] = Object.keys(again);
    expect(second).not.toBe(first);
    expect(again[second!]!.params.message).toContain('must be even');
    await update({
      [first!]: { action: 'accept', content: { size: 4 } },
      [second!]: { action: 'accept', content: { size: 6 } },
    });
    expect(await done()).toEqual({ action: 'accept', content: { size: 6 } });
  });

  it('may be names that break objects [G3-S-18]', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'a b/c', 'x'.repeat(500)];
    const { asked, update, done } = await waiting((tasks) =>
      tasks.registerTool('asks', {}, async (_args, task) => {
        const all = await Promise.all(names.map((name) => task.ask(name, { message: name, schema: ok })));
        return text(JSON.stringify(all));
      }),
    );
    const requests = (await asked(names.length))['inputRequests'] as Json;
    const answers = JSON.parse(
      `{${Object.keys(requests)
        .map((key) => `${JSON.stringify(key)}:${JSON.stringify(yes)}`)
        .join(',')}}`,
    );
    await update(answers);
    expect(await done()).toEqual(names.map(() => yes));
  });
});

describe('a question', () => {
  const asks = (tasks: Tasks) =>
    tasks.registerTool('asks', {}, async (_args, task: TaskContext) => {
      await task.ask('go', { message: 'Go on?', schema: ok });
      return text('went on');
    });

  it.each<[Json]>([[{}], [{ form: {} }], [{ form: {}, url: {} }]])(
    'is put to a client that declared %j [G3-S-30]',
    async (elicitation) => {
      const { peer, reaches } = serve(asks);
      const { taskId } = await peer.start('asks', {}, { capabilities: { elicitation, extensions } });
      await reaches(taskId, 'input_required');
      // Whoever asks sees it: what is open is not hidden from a poller that declares less.
      expect((await peer.get(taskId, { capabilities: { extensions } })).result).toHaveProperty('inputRequests.go');
    },
  );

  it.each<[Json | undefined]>([[undefined], [{ url: {} }]])(
    'is not put to one that declared %j [G3-S-30] [G3-S-87]',
    async (elicitation) => {
      const { peer, when } = serve(asks);
      const capabilities = { ...(elicitation && { elicitation }), extensions };
      const { taskId } = await peer.start('asks', {}, { capabilities });
      const task = await when(taskId, ({ status }) => status !== 'working');
      expect(task).toMatchObject({
        status: 'failed',
        error: { code: -32603, message: expect.stringContaining('cannot ask "go"') },
      });
    },
  );

  it('is put to a caller without tasks by the answer to its call, which it repeats with its own [G3-S-30] [G3-S-87]', async () => {
    const { peer } = serve(asks);
    const capabilities = { elicitation: {} };
    const { result, notifications } = await peer.call('asks', {}, { capabilities });
    expect(notifications).toEqual([]);
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { go: { method: 'elicitation/create', params: { mode: 'form', message: 'Go on?' } } },
      requestState: expect.any(String),
    });
    const again = (params: Json) =>
      peer.send('tools/call', { name: 'asks', arguments: {}, ...params }, { capabilities });
    const answers = { go: { action: 'accept', content: { ok: true } } };
    const forged = await again({ inputResponses: answers, requestState: `${result['requestState']}x` });
    expect(forged.error).toMatchObject({ code: -32602, message: expect.stringContaining('requestState') });
    const unfit = await again({ inputResponses: { go: { action: 'accept' } }, requestState: result['requestState'] });
    expect(unfit.error).toMatchObject({ code: -32602 });
    const done = await again({ inputResponses: answers, requestState: result['requestState'] });
    expect(done.result).toMatchObject({ resultType: 'complete', content: [{ type: 'text' }] });
  });

  it('is told to a caller who can neither be asked nor take a task, with the tool that answers it', async () => {
    const { peer } = serve(asks);
    const { result } = await peer.call('asks', {}, { capabilities: {} });
    expect(result).toMatchObject({
      resultType: 'complete',
      content: [
        { type: 'text', text: expect.stringMatching(/waits for an answer.*Question "go": Go on\?.*task_answer/s) },
        { type: 'resource_link', uri: expect.stringMatching(/^longcall:\/\/tasks\//) },
      ],
      structuredContent: { taskId: expect.any(String), status: 'input_required' },
    });
    expect(result).not.toHaveProperty('isError');
    const { taskId } = result['structuredContent'] as Json;
    const args = { taskId, key: 'go', action: 'accept', content: { ok: true } };
    expect((await peer.call('task_answer', args, { capabilities: {} })).result).toMatchObject({
      content: [{ text: expect.stringContaining('task_wait') }],
    });
    const done = await peer.call('task_wait', { taskId }, { capabilities: {} });
    expect(done.result).toMatchObject({ resultType: 'complete', content: [{ type: 'text' }] });
    expect(done.result).not.toHaveProperty('isError');
  });
});
