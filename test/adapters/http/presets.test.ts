import { describe, expect, it } from 'vitest';
import { httpTool } from '../../../src/adapters/index.ts';
import type { JobSnapshot } from '../../../src/core/index.ts';
import { ManualClock } from '../../../src/testing/index.ts';
import { AipService } from '../../fakes/aip-service.ts';
import { AzureService } from '../../fakes/azure-service.ts';
import { GenericService } from '../../fakes/generic-service.ts';
import { aContext, serving, textOf } from './support.ts';

const okOf = (result: object): JobSnapshot => ({
  state: 'done',
  outcome: 'ok',
  result: { content: [{ type: 'text', text: JSON.stringify(result, null, 2) }], structuredContent: result as never },
});

describe('an API that answers 202', () => {
  const site = async () => {
    const clock = new ManualClock();
    const service = await serving(new GenericService(clock));
    const adapter = httpTool({ start: { url: `${service.origin}/builds` } });
    return { clock, service, adapter, context: aContext({ clock }) };
  };

  it('is started with the input, and followed from its Location to the result of a 303', async () => {
    const { service, adapter, context } = await site();
    service.retryAfter = '7';
    const { ref, snapshot } = await adapter.start({ branch: 'main' }, context);
    expect(service.requests[0]).toMatchObject({
      method: 'POST',
      body: { branch: 'main' },
      headers: {
        prefer: 'respond-async',
        'content-type': 'application/json',
        'idempotency-key': context.idempotencyKey,
        'accept-encoding': 'identity',
      },
    });
    expect(ref).toEqual({
      at: context.now(),
      status: `${service.origin}/operations/op-1`,
      cancel: `${service.origin}/operations/op-1`,
    });
    expect(snapshot).toEqual({ state: 'working', nextPollMs: 7_000, pollHintMs: 7_000 });
    expect(await adapter.poll(ref, context)).toEqual({ state: 'working', nextPollMs: 7_000, pollHintMs: 7_000 });
    service.finish({ artifact: 'a.zip' });
    expect(await adapter.poll(ref, context)).toEqual(okOf({ artifact: 'a.zip' }));
    expect(service.requests.map(({ about }) => about)).toEqual(['start', 'status', 'status', 'result']);
  });

  it('is cancelled at its monitor, also twice, and is lost when that is gone', async () => {
    const { service, adapter, context } = await site();
    const { ref } = await adapter.start({}, context);
    expect(adapter.caps.cancel).toBe('request');
    await adapter.cancel?.(ref, context);
    expect(service.job().state).toBe('cancelled');
    service.jobs.clear();
    await adapter.cancel?.(ref, context);
    expect(await adapter.poll({ ...ref, at: 0 }, context)).toEqual({
      state: 'lost',
      message: 'the service does not know it any more (404)',
    });
  });

  it('gives its result at once where the service has it', async () => {
    const { service, adapter, context } = await site();
    service.faults = [{ about: 'start', when: 'after', how: { status: 200, body: { quick: true } } }];
    const { ref, snapshot } = await adapter.start({}, context);
    expect(snapshot).toEqual(okOf({ quick: true }));
    // Recorded, and its process died before the task ended: nobody has the result any more.
    expect(await adapter.poll(ref, context)).toMatchObject({ state: 'lost' });
  });

  it.each([
    [
      { status: 200, text: 'all fine', headers: { 'content-type': 'text/plain' } },
      { type: 'text', text: 'all fine' },
    ],
    [
      { status: 200, text: 'PNG', headers: { 'content-type': 'image/png' } },
      { type: 'image', data: 'UE5H', mimeType: 'image/png' },
    ],
    [
      { status: 200, text: '[1,2]', headers: { 'content-type': 'application/json; charset=utf-8' } },
      { type: 'text', text: '[\n  1,\n  2\n]' },
    ],
  ])('gives a result of another kind as what it is: %o', async (how, block) => {
    const { service, adapter, context } = await site();
    service.faults = [{ about: 'start', when: 'after', how }];
    const { snapshot } = await adapter.start({}, context);
    expect(snapshot).toEqual({ state: 'done', outcome: 'ok', result: { content: [block] } });
  });

  it('is read by words where it says more than a status', async () => {
    const { clock, service, context } = await site();
    const adapter = httpTool({
      start: { url: `${service.origin}/builds` },
      status: {
        state: '$.run.state',
        states: { done: ['OK'], failed: ['broken'], lost: ['purged'] },
        progress: { at: '$.run.files', total: '$.run.of' },
        message: '$.run.doing',
        error: '$.run.why',
        result: ['$.run.out', { url: { answer: '$.run.href' } }],
      },
    });
    const { ref } = await adapter.start({}, context);
    const answers = async (run: object) => {
      service.faults = [{ about: 'status', when: 'before', how: { status: 200, body: { run } as never } }];
      return adapter.poll(ref, context);
    };
    expect(await answers({ state: 'linking', files: 3, of: 9, doing: 'link' })).toEqual({
      state: 'working',
      message: 'link',
      progress: { progress: 3, total: 9 },
    });
    expect(await answers({ state: 'linking', files: 'many' })).toEqual({ state: 'working', message: 'linking' });
    expect(await answers({ state: 'Ok', out: { n: 1 } })).toEqual(okOf({ n: 1 }));
    const broken = await answers({ state: 'broken', why: { code: 'E7', message: 'no linker' } });
    expect(broken).toEqual({
      state: 'done',
      outcome: 'error',
      result: { content: [{ type: 'text', text: 'E7: no linker' }], isError: true },
    });
    expect(await answers({ state: 'purged' })).toEqual({ state: 'lost', message: 'the service says "purged"' });
    service.finish({ fetched: true });
    expect(await answers({ state: 'ok', href: '/results/op-1' })).toEqual(okOf({ fetched: true }));
    expect(clock.now()).toBe(context.now());
  });
});

describe('an API that returns an Operation (AIP-151)', () => {
  const site = async () => {
    const clock = new ManualClock();
    const service = await serving(new AipService(clock));
    const adapter = httpTool({
      preset: 'aip-151',
      start: {
        url: `${service.origin}/v1/projects/{project}/builds:run`,
        body: { steps: { input: 'steps' }, requestId: { job: 'uuid' } },
      },
      idempotency: { honoured: true },
    });
    return { clock, service, adapter, context: aContext({ clock }) };
  };

  it('is followed by its name, with its progress, to the response', async () => {
    const { service, adapter, context } = await site();
    const { ref, snapshot } = await adapter.start({ project: 'p', steps: [1, { a: null }] }, context);
    const { path, body } = service.requests[0] ?? {};
    expect(path).toBe('/v1/projects/p/builds:run');
    expect(body).toEqual({
      steps: [1, { a: null }],
      requestId: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/),
    });
    expect(snapshot).toEqual({ state: 'working', progress: { progress: 0, total: 100 } });
    Object.assign(service.job(), { percent: 40, message: 'compiling' });
    expect(await adapter.poll(ref, context)).toEqual({
      state: 'working',
      message: 'compiling',
      progress: { progress: 40, total: 100 },
    });
    service.finish({ image: 'x' });
    expect(await adapter.poll(ref, context)).toEqual(okOf({ image: 'x' }));
    expect(service.requests.at(-1)?.path).toBe('/v1/projects/p/operations/op-1');
  });

  it('fails with its error, and is cancelled by :cancel, which its error tells', async () => {
    const { service, adapter, context } = await site();
    const { ref } = await adapter.start({ project: 'p' }, context);
    await adapter.cancel?.(ref, context);
    expect(service.requests.at(-1)).toMatchObject({
      method: 'POST',
      path: '/v1/projects/p/operations/op-1:cancel',
      body: {},
    });
    expect(await adapter.poll(ref, context)).toEqual({ state: 'cancelled', message: '1: cancelled by its caller' });
    service.fail('out of quota');
    expect(textOf(((await adapter.poll(ref, context)) as { result: object }).result)).toBe('9: out of quota');
  });

  it('is over at once where the Operation is done', async () => {
    const { service, adapter, context } = await site();
    const body = { name: 'operations/x', done: true, response: { cached: true } };
    service.faults = [{ about: 'start', when: 'after', how: { status: 200, body } }];
    expect((await adapter.start({ project: 'p' }, context)).snapshot).toEqual(okOf({ cached: true }));
  });

  it('starts nothing twice under one key, and says so only where that was declared', async () => {
    const { service, adapter, context } = await site();
    expect(adapter.caps.idempotentStart).toBe(true);
    service.honoursKeys = true;
    const first = await adapter.start({ project: 'p' }, context);
    expect((await adapter.start({ project: 'p' }, context)).ref).toEqual(first.ref);
    await adapter.start({ project: 'p' }, aContext({ job: 'two' }));
    expect(service.jobs.size).toBe(2);
    const undeclared = httpTool({ start: { url: 'https://api.test/' }, idempotency: { header: 'Idempotency-Key' } });
    expect(undeclared.caps.idempotentStart).toBe(false);
  });
});

describe('an API of Azure’s kind', () => {
  const site = async (method = 'POST') => {
    const clock = new ManualClock();
    const service = await serving(new AzureService(clock));
    const adapter = httpTool({
      preset: 'azure',
      start: { method, url: `${service.origin}/things/{id}?api-version=1` },
      cancel: { url: { status: ':cancel' } },
    });
    return { clock, service, adapter, context: aContext({ clock }) };
  };

  it.each(['operation-location', 'azure-asyncoperation', 'location'] as const)(
    'is followed at its %s',
    async (header) => {
      const { service, adapter, context } = await site();
      service.header = header;
      const { ref } = await adapter.start({ id: 'op-1' }, context);
      expect(ref.status).toBe(`${service.origin}/operations/op-1?api-version=1`);
      expect(await adapter.poll(ref, context)).toMatchObject({ state: 'working' });
      service.finish({ size: 3 });
      expect(await adapter.poll(ref, context)).toEqual(okOf({ size: 3 }));
    },
  );

  it.each([
    ['POST', 'resourceLocation'],
    ['PUT', 'nothing'],
  ] as const)('gives after a %s what is at %s or the URL of the start', async (method, resultBy) => {
    const { service, adapter, context } = await site(method);
    service.resultBy = resultBy;
    const { ref } = await adapter.start({ id: 'op-1' }, context);
    expect(await adapter.poll(ref, context)).toMatchObject({ state: 'working', message: 'InProgress' });
    service.finish({ size: 3 });
    expect(await adapter.poll(ref, context)).toEqual(okOf({ size: 3 }));
    expect(service.about('result')).toHaveLength(1);
  });

  it('fails with code and message, and is cancelled where a URL for that is set, in either spelling', async () => {
    const { service, adapter, context } = await site();
    const { ref } = await adapter.start({ id: 'a' }, context);
    await adapter.cancel?.(ref, context);
    expect(service.requests.at(-1)?.path).toBe('/operations/op-1:cancel?api-version=1');
    expect(await adapter.poll(ref, context)).toEqual({ state: 'cancelled' });
    const how = { status: 200, body: { status: 'Cancelled' } };
    service.faults = [{ about: 'status', when: 'before', how }];
    expect(await adapter.poll(ref, context)).toEqual({ state: 'cancelled' });
    service.fail('it is in use');
    expect(textOf(((await adapter.poll(ref, context)) as { result: object }).result)).toBe('Conflict: it is in use');
    expect(httpTool({ preset: 'azure', start: { url: 'https://api.test/' } }).caps.cancel).toBe('none');
  });
});
