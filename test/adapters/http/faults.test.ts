import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { HttpToolOptions } from '../../../src/adapters/http/options.ts';
import { httpTool } from '../../../src/adapters/index.ts';
import { NonRetryableError } from '../../../src/core/index.ts';
import { ManualClock } from '../../../src/testing/index.ts';
import { GenericService } from '../../fakes/generic-service.ts';
import { freePort } from '../../support/free-port.ts';
import { aContext, serving, textOf, thrown } from './support.ts';

async function site(options: Partial<HttpToolOptions> = {}) {
  const clock = new ManualClock();
  const service = await serving(new GenericService(clock));
  const adapter = httpTool({ ...options, clock, start: { url: `${service.origin}/builds`, ...options.start } });
  return { clock, service, adapter, context: aContext({ clock }) };
}

describe('a start', () => {
  it('that nobody listens to was certainly none', async () => {
    const adapter = httpTool({ start: { url: `http://127.0.0.1:${await freePort()}/` } });
    expect(await thrown(adapter.start({}, aContext()))).toMatchObject({ code: 'ECONNREFUSED', mayHaveStarted: false });
  });

  it('whose name means nothing was none', async () => {
    const nowhere = Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' });
    const adapter = httpTool({ start: { url: 'https://api.test/' }, lookup: () => Promise.reject(nowhere) });
    expect(await thrown(adapter.start({}, aContext()))).toMatchObject({ code: 'ENOTFOUND', mayHaveStarted: false });
  });

  it('whose handshake fails was none', async () => {
    const deaf = createServer((socket) => socket.end('not TLS'));
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
    const { port } = deaf.address() as { port: number };
    const adapter = httpTool({ start: { url: `https://127.0.0.1:${port}/` } });
    expect(await thrown(adapter.start({}, aContext()))).toMatchObject({ mayHaveStarted: false });
    deaf.close();
  });

  it.each(['before', 'after'] as const)('whose answer is dropped %s it was done may have started', async (when) => {
    const { service, adapter, context } = await site();
    service.faults = [{ about: 'start', when, how: 'drop' }];
    expect(await thrown(adapter.start({}, context))).toMatchObject({ code: 'ECONNRESET', mayHaveStarted: true });
  });

  it('that is not answered in time may have started', async () => {
    const { clock, service, adapter, context } = await site({ limits: { timeoutMs: 5_000 } });
    service.faults = [{ about: 'start', when: 'after', how: 'hang' }];
    const error = thrown(adapter.start({}, context));
    await service.until('start');
    clock.advance(5_000);
    expect(await error).toMatchObject({ code: 'ETIMEDOUT', mayHaveStarted: true });
    expect((await error).message).toBe(`${service.origin} did not answer within 5000 ms (ETIMEDOUT)`);
  });

  it.each([
    [429, '12', 12_000, false],
    [503, '3', 3_000, true],
    [500, undefined, undefined, true],
  ])(
    'answered with %i and Retry-After %s is tried again after that',
    async (status, after, retryAfterMs, mayHaveStarted) => {
      const { service, adapter, context } = await site();
      const headers = after === undefined ? {} : { 'retry-after': after };
      service.faults = [{ about: 'start', when: 'before', how: { status, headers } }];
      const error = await thrown(adapter.start({}, context));
      expect(error).toMatchObject({ code: `HTTP_${status}`, mayHaveStarted });
      expect(error.retryAfterMs).toBe(retryAfterMs);
    },
  );

  it('measures a date in Retry-After by the clock that wrote it, however wrong that is', async () => {
    const { clock, service, adapter, context } = await site();
    service.skewMs = 7 * 3_600_000;
    const headers = { 'retry-after': new Date(service.now() + 90_000).toUTCString() };
    service.faults = [{ about: 'start', when: 'before', how: { status: 429, headers } }];
    expect(await thrown(adapter.start({}, context))).toMatchObject({ retryAfterMs: 90_000 });
    expect(clock.now()).toBe(context.now());
  });

  it('that is refused is over for good, with what the service says, capped', async () => {
    const { service, adapter, context } = await site();
    service.faults = [
      { about: 'start', when: 'before', how: { status: 422, body: { error: 'no branch of this name' } } },
    ];
    const { snapshot } = await adapter.start({ branch: 'x' }, context);
    expect(snapshot).toMatchObject({ state: 'done', outcome: 'error', result: { isError: true } });
    const { result } = snapshot as unknown as { result: object };
    expect(textOf(result)).toBe(`${service.origin} answered 422: {"error":"no branch of this name"}`);
    service.faults = [{ about: 'start', when: 'before', how: { status: 400, text: 'x'.repeat(100_000) } }];
    const long = (await adapter.start({}, context)).snapshot as unknown as { result: object };
    expect(textOf(long.result)).toMatch(/^http:\S+ answered 400: x{4096} … \(95904 characters more\)$/);
  });

  it('whose key is at work in another request is tried again, where the service honours keys', async () => {
    const { service, adapter, context } = await site({ idempotency: { honoured: true } });
    service.faults = [{ about: 'start', when: 'before', how: { status: 409 } }];
    expect(await thrown(adapter.start({}, context))).toMatchObject({ code: 'HTTP_409' });
  });

  it('that tells nothing to follow it by is lost, and says which options would help', async () => {
    const { service, adapter, context } = await site();
    service.faults = [{ about: 'start', when: 'after', how: { status: 202 } }];
    const { snapshot } = await adapter.start({}, context);
    expect(snapshot).toMatchObject({
      state: 'lost',
      message: expect.stringContaining('(status.url), and find is not set'),
    });
  });

  it('stops when its task goes on elsewhere', async () => {
    const stop = new AbortController();
    const { service, adapter } = await site();
    service.faults = [{ about: 'start', when: 'after', how: 'hang' }];
    const error = thrown(adapter.start({}, aContext({ signal: stop.signal })));
    await service.until('start');
    stop.abort(new Error('drained'));
    expect((await error).message).toBe('drained');
  });
});

describe('a look at the status', () => {
  const started = async (options: Partial<HttpToolOptions> = {}) => {
    const here = await site(options);
    const { ref } = await here.adapter.start({}, here.context);
    return { ...here, ref };
  };

  it('finds nothing for a while of what was just started, and only then calls it lost', async () => {
    const { clock, service, adapter, context, ref } = await started({ status: { appearsWithinMs: 20_000 } });
    service.visibleAfterMs = 60_000;
    expect(await adapter.poll(ref, context)).toEqual({ state: 'working' });
    clock.advance(20_000);
    expect(await adapter.poll(ref, context)).toMatchObject({ state: 'lost' });
    service.faults = [{ about: 'status', when: 'before', how: { status: 410 } }];
    expect(await adapter.poll({ ...ref, at: clock.now() }, context)).toMatchObject({ state: 'lost' });
  });

  it('is tried again whatever a service in trouble answers, and comes through', async () => {
    const { service, adapter, context, ref } = await started();
    service.faults = [500, 502, 503, 429, 401, 403].map((status) => {
      return { about: 'status', when: 'before', how: { status, headers: { 'retry-after': '2' } } };
    });
    service.faults.push({ about: 'status', when: 'after', how: 'drop' });
    for (const code of ['HTTP_500', 'HTTP_502', 'HTTP_503', 'HTTP_429', 'HTTP_401', 'HTTP_403']) {
      expect(await thrown(adapter.poll(ref, context))).toMatchObject({ code, retryAfterMs: 2_000 });
    }
    expect(await thrown(adapter.poll(ref, context))).toMatchObject({ code: 'ECONNRESET' });
    service.finish();
    expect(await adapter.poll(ref, context)).toMatchObject({ state: 'done', outcome: 'ok' });
  });

  it('takes an answer that is too large for the end, instead of asking for it for ever', async () => {
    const { service, adapter, context, ref } = await started({ limits: { responseBytes: 1_000 } });
    service.finish({ text: 'x'.repeat(2_000) });
    const snapshot = (await adapter.poll(ref, context)) as unknown as { outcome: string; result: object };
    expect(snapshot.outcome).toBe('error');
    expect(textOf(snapshot.result)).toContain('answered with more than limits.responseBytes (1000)');
  });

  it('takes no compressed answer, which nobody asked for', async () => {
    const { service, adapter, context, ref } = await started();
    const how = { status: 200, text: 'gz', headers: { 'content-encoding': 'gzip' } };
    service.faults = [{ about: 'status', when: 'before', how }];
    const { result } = (await adapter.poll(ref, context)) as unknown as { result: object };
    expect(textOf(result)).toContain('answered compressed');
  });
});

describe('a cancel', () => {
  it('is tried again while it may help, and given up where the service never cancels', async () => {
    const { service, adapter, context } = await site();
    const { ref } = await adapter.start({}, context);
    service.faults = [
      { about: 'cancel', when: 'before', how: { status: 503, headers: { 'retry-after': '1' } } },
      { about: 'cancel', when: 'before', how: { status: 405 } },
    ];
    expect(await thrown(adapter.cancel?.(ref, context) as Promise<void>)).toMatchObject({ retryAfterMs: 1_000 });
    await adapter.cancel?.(ref, context);
    expect(context.lines).toEqual([`it could not be cancelled: ${service.origin} answered 405`]);
  });
});

describe('what can never be done', () => {
  it('ends a cancel, and a search, that is sent to where nothing may be asked for', async () => {
    const elsewhere = { status: 302, headers: { location: 'http://elsewhere.test/' } };
    const { service, adapter, context } = await site({ cancel: { method: 'DELETE' } });
    const { ref } = await adapter.start({}, context);
    service.faults = [{ about: 'cancel', when: 'before', how: { ...elsewhere, status: 307 } }];
    await adapter.cancel?.(ref, context);
    expect(context.lines.join()).toContain('it could not be cancelled: ');
    expect(context.lines.join()).toContain('at another origin, http://elsewhere.test');

    const find = { url: `${service.origin}/list`, match: 'key' };
    const finder = await site({ find });
    service.faults = [{ about: 'start', when: 'before', how: elsewhere }];
    const error = await thrown(finder.adapter.find?.({}, context) as Promise<unknown>);
    expect(error).toBeInstanceOf(NonRetryableError);
  });
});

describe('secrets', () => {
  it('that a service repeats are in no result, message or error', async () => {
    const secret = 'hush-12345678';
    const { service, adapter, context } = await site({
      secrets: [secret],
      headers: { 'x-token': secret },
      status: { state: '$.state', states: { done: ['ok'] }, message: '$.doing' },
    });
    const { ref } = await adapter.start({}, context);
    const answers = [
      { status: 200, body: { state: 'on', doing: `with ${secret}` } },
      { status: 200, body: { state: 'ok', deep: [{ header: secret }] } },
    ];
    service.faults = answers.map((how) => ({ about: 'status', when: 'before', how }));
    service.faults.push({ about: 'start', when: 'before', how: { status: 400, text: `no, ${secret}` } });
    const seen = [
      await adapter.poll(ref, context),
      await adapter.poll(ref, context),
      (await adapter.start({}, context)).snapshot,
    ];
    expect(JSON.stringify(seen)).not.toContain(secret);
    expect(JSON.stringify(seen).split('[redacted]')).toHaveLength(5);
  });
});

describe('options of an http tool', () => {
  const start = { url: 'https://api.test/x' };
  it.each<[string, object, string]>([
    ['no URL', { start: {} }, 'start.url must be a URL'],
    ['a value in the origin', { start: { url: 'https://{host}/x' } }, 'start.url must be an http or https URL'],
    ['a value in the port', { start: { url: 'https://api.test:{port}/x' } }, 'start.url must be'],
    ['a user name', { start: { url: 'https://me@api.test/' } }, 'without a user name'],
    ['another scheme', { start: { url: 'file:///etc/passwd' } }, 'http or https'],
    ['a fragment', { start: { url: 'https://api.test/#a' } }, 'no fragment'],
    ['a stray brace', { start: { url: 'https://api.test/{a' } }, 'stray'],
    ['an unknown preset', { preset: 'soap', start }, 'preset must be one of generic-202, aip-151, azure, got "soap"'],
    ['a method of no HTTP', { start: { ...start, method: 'BREW' } }, 'start.method must be one of'],
    ['a header of Node’s', { start, headers: { Host: 'x' } }, 'headers: no header of this name can be set: "Host"'],
    ['a header on two lines', { start, headers: { 'x-a': 'b\r\nc: d' } }, 'headers.x-a: the value of a header'],
    ['a path that is none', { start, status: { state: '$..' } }, 'status.state must be a JSON path'],
    ['a word with two meanings', { start, status: { states: { done: ['x'], failed: ['X'] } } }, '"X" means both'],
    ['an origin with a path', { start, allowedOrigins: ['https://a.test/b'] }, 'allowedOrigins[0] must be an origin'],
    [
      'a limit of nothing',
      { start, limits: { timeoutMs: 0 } },
      'limits.timeoutMs must be a whole number of at least 1',
    ],
    ['a job value that is none', { start: { ...start, body: { a: { job: 'id' } } } }, 'start.body.a.job must be key'],
    ['+ of the input', { start: { url: 'https://api.test/{+input.a}' } }, 'only answers may be put in with +'],
    [
      'keys that nobody sends',
      { preset: 'aip-151', start, idempotency: { honoured: true } },
      'idempotency.honoured: nothing in the start carries a key',
    ],
    [
      'a search for what nobody sends',
      { preset: 'aip-151', start, find: { url: 'https://api.test/runs', match: '$.name' } },
      'find: nothing in the start carries the job’s key',
    ],
    ['no secret', { start, webhook: { secret: '' } }, 'webhook.secret must not be empty'],
    [
      'a time that nobody signs',
      { start, webhook: { secret: 's', timestamp: { header: 'x-at' }, signed: '{body}' } },
      'webhook.signed must have {timestamp} in it',
    ],
  ])('are refused at once with %s', (_what, options, message) => {
    expect(() => httpTool(options as HttpToolOptions)).toThrow(message);
  });

  it('put into a request what the input has, and refuse a call that lacks what the URL needs', async () => {
    const clock = new ManualClock();
    const service = await serving(new GenericService(clock));
    const adapter = httpTool({
      start: {
        method: 'PUT',
        url: `${service.origin}/repos/{owner}/builds?of={input.repo.name}`,
        query: { ref: { input: 'branch' }, full: 'yes', also: { input: 'absent' } },
        headers: { 'x-who': { input: '$.repo.name' } },
        body: {
          job: { job: 'key' },
          list: [{ input: 'branch' }, { input: 'absent' }, 7],
          gone: { input: 'absent' },
          raw: { literal: { input: 'x' } },
        },
      },
    });
    const context = aContext({ clock });
    await adapter.start({ owner: 'a b/ü', branch: 'x&y=1#z', repo: { name: 'r?' } }, context);
    expect(service.requests[0]).toMatchObject({
      method: 'PUT',
      path: '/repos/a%20b%2F%C3%BC/builds?of=r%3F&ref=x%26y%3D1%23z&full=yes',
      headers: { 'x-who': 'r?' },
      body: { job: context.idempotencyKey, list: ['x&y=1#z', 7], raw: { input: 'x' } },
    });
    const error = await thrown(adapter.start({ owner: 'a' }, context));
    expect(error).toBeInstanceOf(NonRetryableError);
    expect(error.message).toBe('start.url: {input.repo.name} is needed and was not given');
  });
});
