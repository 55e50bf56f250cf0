import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AddressKind, checkedAddresses, kindOfAddress } from '../../../src/adapters/http/addresses.ts';
import type { HttpToolOptions } from '../../../src/adapters/http/options.ts';
import { urlTemplate } from '../../../src/adapters/http/url-template.ts';
import { httpTool } from '../../../src/adapters/index.ts';
import { NonRetryableError } from '../../../src/core/index.ts';
import { ManualClock } from '../../../src/testing/index.ts';
import { GenericService } from '../../fakes/generic-service.ts';
import { aContext, serving, textOf, thrown } from './support.ts';

const SECRET = 'Bearer s3cret';

async function site(options: Partial<HttpToolOptions> = {}) {
  const clock = new ManualClock();
  const [service, other] = await Promise.all([serving(new GenericService(clock)), serving(new GenericService(clock))]);
  const make = (more: Partial<HttpToolOptions> = {}) =>
    httpTool({
      start: { url: `${service.origin}/builds`, headers: { 'x-api-key': SECRET } },
      headers: { Authorization: SECRET },
      ...options,
      ...more,
    });
  return { clock, service, other, make, context: aContext({ clock }) };
}

type Failure = { state: string; outcome: string; result: object };

describe('credentials', () => {
  it('go to the origin of the start alone, and to no status, result or redirect elsewhere', async () => {
    const { service, other, make, context } = await site();
    const adapter = make();
    const elsewhere = `${other.origin}/operations/op-1`;
    const refusal = `${service.origin} answered with a URL at another origin, ${other.origin}; allowedOrigins would have to name it`;
    service.faults = [{ about: 'start', when: 'after', how: { status: 202, headers: { location: elsewhere } } }];
    const { snapshot } = await adapter.start({}, context);
    expect(snapshot).toMatchObject({ state: 'done', outcome: 'error' });
    expect(textOf((snapshot as unknown as Failure).result)).toBe(`${refusal}. It was started, and may go on.`);

    service.faults = [{ about: 'start', when: 'after', how: { status: 307, headers: { location: elsewhere } } }];
    const redirected = (await adapter.start({}, context)).snapshot as unknown as Failure;
    expect(textOf(redirected.result)).toContain(`a redirect at another origin, ${other.origin}`);

    const { ref } = await adapter.start({}, context);
    for (const status of [301, 302, 303, 307, 308]) {
      service.faults = [{ about: 'status', when: 'before', how: { status, headers: { location: elsewhere } } }];
      const seen = (await adapter.poll(ref, context)) as unknown as Failure;
      expect(seen).toMatchObject({ state: 'done', outcome: 'error' });
      expect(textOf(seen.result)).toContain(other.origin);
    }
    expect(other.requests).toEqual([]);
    expect(service.requests.every(({ headers }) => headers['authorization'] === SECRET)).toBe(true);
    expect(textOf(redirected.result)).not.toContain('s3cret');
  });

  it('stay here where an origin is allowed, unless that says that it may have them', async () => {
    const { service, other, make, context } = await site();
    const { ref } = await make().start({}, context);
    for (const credentials of [false, true]) {
      const allowed = make({ allowedOrigins: [credentials ? { origin: other.origin, credentials } : other.origin] });
      const how = { status: 303, headers: { location: `${other.origin}/results/op-1` } };
      service.faults = [{ about: 'status', when: 'before', how }];
      other.faults = [{ about: 'result', when: 'before', how: { status: 200, body: { here: true } } }];
      expect(await allowed.poll(ref, context)).toMatchObject({ state: 'done', outcome: 'ok' });
      const { headers } = other.requests.at(-1) ?? {};
      expect(headers?.['authorization']).toBe(credentials ? SECRET : undefined);
      expect(headers?.['x-api-key']).toBeUndefined(); // Of the start alone.
    }
  });

  it('are not sent again with a start that is sent on to an origin without them', async () => {
    const { service, other, make, context } = await site();
    const adapter = make({ allowedOrigins: [other.origin] });
    const how = { status: 308, headers: { location: `${other.origin}/builds` } };
    service.faults = [{ about: 'start', when: 'before', how }];
    const { ref } = await adapter.start({ n: 1 }, context);
    expect(ref.status).toBe(`${other.origin}/operations/op-1`);
    expect(other.requests[0]).toMatchObject({ method: 'POST', body: { n: 1 } });
    expect(other.requests[0]?.headers).not.toHaveProperty('authorization');
    expect(other.requests[0]?.headers).not.toHaveProperty('x-api-key');
  });
});

describe('redirects', () => {
  it('are followed by hand: 303 as GET without the body, no more than the limit, no POST made into something else', async () => {
    const { service, make, context } = await site();
    const adapter = make({ limits: { redirects: 2 } });
    service.faults = [
      { about: 'start', when: 'after', how: { status: 303, headers: { location: '/operations/op-1' } } },
    ];
    await adapter.start({ n: 1 }, context);
    expect(service.requests.at(-1)).toMatchObject({ method: 'GET', path: '/operations/op-1', body: undefined });

    service.faults = Array.from({ length: 3 }, () => {
      return { about: 'status', when: 'before', how: { status: 302, headers: { location: '/operations/op-1' } } };
    });
    const ref = { at: context.now(), status: `${service.origin}/operations/op-1` };
    const { result } = (await adapter.poll(ref, context)) as unknown as Failure;
    expect(textOf(result)).toContain('redirected more than 2 times (limits.redirects)');

    service.faults = [{ about: 'start', when: 'before', how: { status: 302, headers: { location: '/builds' } } }];
    const { snapshot } = await adapter.start({}, context);
    expect(textOf((snapshot as unknown as Failure).result)).toContain('redirected a POST with 302');
  });

  it.each(['file:///etc/passwd', 'ftp://127.0.0.1/x', 'http://u:p@127.0.0.1/'])(
    'to %s are refused',
    async (location) => {
      const { service, make, context } = await site();
      const adapter = make();
      const { ref } = await adapter.start({}, context);
      service.faults = [{ about: 'status', when: 'before', how: { status: 302, headers: { location } } }];
      expect(await adapter.poll(ref, context)).toMatchObject({ state: 'done', outcome: 'error' });
    },
  );
});

describe('addresses', () => {
  it.each<[AddressKind, string[]]>([
    [
      'never',
      [
        '169.254.169.254',
        '169.254.170.2',
        '100.100.100.200',
        '168.63.129.16',
        '0.0.0.0',
        '224.0.0.1',
        '255.255.255.255',
      ],
    ],
    ['never', ['fe80::1', 'fd00:ec2::254', 'fd20:ce::254', '::', 'ff02::1', '2001:0:1::1']],
    ['never', ['::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', '2002:a9fe:a9fe::1', '::a9fe:a9fe']],
    ['private', ['127.0.0.1', '127.9.9.9', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1']],
    [
      'private',
      ['::1', 'fc00::1', 'fd12:3456::1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '64:ff9b::7f00:1', '2002:0a00:1::'],
    ],
    ['public', ['93.184.216.34', '172.32.0.1', '100.63.255.255', '169.253.1.1', '2606:4700::1', '64:ff9b::5db8:d822']],
  ])('are %s: %j', (kind, addresses) => {
    for (const address of addresses) {
      expect([address, kindOfAddress({ address, family: address.includes(':') ? 6 : 4 })]).toEqual([address, kind]);
    }
  });

  it.each([
    'http://169.254.169.254/',
    'http://[fd00:ec2::254]/',
    'http://0xa9fea9fe/',
    'http://metadata.google.internal./',
  ])('of clouds below are refused, also as the start itself and with allowPrivate: %s', async (url) => {
    const lookup = () => Promise.reject(new Error('nobody should ask'));
    const adapter = httpTool({ start: { url }, allowPrivate: true, lookup });
    const error = await thrown(adapter.start({}, aContext()));
    expect(error).toBeInstanceOf(NonRetryableError);
    expect(error.message).toMatch(/never reached/);
  });

  it('are checked after names are resolved, all of them', async () => {
    const lookup = () =>
      Promise.resolve([
        { address: '93.184.216.34', family: 4 as const },
        { address: '10.0.0.7', family: 4 as const },
      ]);
    const adapter = httpTool({ start: { url: 'https://api.test/' }, lookup });
    const error = await thrown(adapter.start({}, aContext()));
    expect(error.message).toBe(
      'api.test is a loopback or private address, which is reached only with allowPrivate: true',
    );
    expect(await checkedAddresses('api.test', { allowPrivate: true, lookup })).toHaveLength(2);
  });

  it('that were checked are the ones that are connected to: a name that means another by then means nothing', async () => {
    const { service, context } = await site();
    const answers = ['127.0.0.1', '169.254.169.254', '10.0.0.1'];
    const asked: string[] = [];
    const adapter = httpTool({
      start: { url: `http://rebound.test:${service.port}/builds` },
      allowPrivate: true,
      lookup: async (name) => {
        asked.push(name);
        return [{ address: answers[asked.length - 1] ?? '10.0.0.2', family: 4 }];
      },
    });
    // The name is known to no system, so the connection can only be to the address that was checked.
    const { ref } = await adapter.start({}, context);
    expect(asked).toEqual(['rebound.test']);
    expect(service.requests[0]?.headers.host).toBe(`rebound.test:${service.port}`);
    const { result } = (await adapter.poll(ref, context)) as unknown as Failure;
    expect(textOf(result)).toContain('rebound.test is a link-local, metadata or reserved address, never reached');
    expect(asked).toHaveLength(2);
    expect(service.about('status')).toEqual([]);
  });

  it('behind a redirect are refused as any other', async () => {
    const { service, make, context } = await site();
    const metadata = 'http://169.254.169.254/latest/meta-data/';
    const adapter = make({ allowedOrigins: ['http://169.254.169.254'] });
    const { ref } = await adapter.start({}, context);
    service.faults = [{ about: 'status', when: 'before', how: { status: 302, headers: { location: metadata } } }];
    const { result } = (await adapter.poll(ref, context)) as unknown as Failure;
    expect(textOf(result)).toContain('never reached');
  });
});

describe('the input', () => {
  const make = urlTemplate('https://api.test/repos/{owner}/x-{n}/builds?ref={ref}', 'start.url');
  const values = (input: object) => ({ input: input as never, job: { key: 'k', uuid: 'u', webhook: undefined } });

  it('can change neither the origin nor the parts of the path, whatever it is', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '..',
        '.',
        '',
        '%2e%2e',
        '../..',
        'a/../../b',
        '..\\..',
        '//evil.test',
        '@evil.test',
        '?x=',
        '#',
        'a\r\nb',
      ),
    );
    fc.assert(
      fc.property(text, text, text, (owner, n, ref) => {
        let made: string;
        try {
          made = make(values({ owner, n, ref }));
        } catch (error) {
          expect(error).toBeInstanceOf(NonRetryableError);
          return;
        }
        const url = new URL(made);
        expect(url.origin).toBe('https://api.test');
        const parts = url.pathname.split('/');
        expect(parts).toHaveLength(5);
        expect([parts[1], parts[4], url.hash]).toEqual(['repos', 'builds', '']);
        expect(decodeURIComponent(parts[2] as string)).toBe(owner);
        expect(decodeURIComponent(parts[3] as string)).toBe(`x-${n}`);
        expect([...url.searchParams.keys()]).toEqual(['ref']);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['..', '.', '', '%2e%2E', 'a/../b', '..\\..', 'a//b', 'a\nb'])(
    '%j is refused as a part of a path',
    (owner) => {
      const error = (() => {
        try {
          return make(values({ owner, n: 1, ref: 'x' }));
        } catch (thrown) {
          return thrown;
        }
      })();
      if (owner === '%2e%2E') expect(error).toContain('/%252e%252E/');
      else expect(error).toBeInstanceOf(NonRetryableError);
    },
  );

  it('begins no header of its own', async () => {
    const { service, make: makeTool, context } = await site();
    const start = { url: `${service.origin}/builds`, headers: { 'x-branch': { input: 'branch' } } };
    const adapter = makeTool({ start });
    const error = await thrown(adapter.start({ branch: 'a\r\nx-admin: 1' }, context));
    expect(error).toBeInstanceOf(NonRetryableError);
    expect(error.message).toContain('start.headers.x-branch: the value of a header must have no line breaks');
    expect(service.requests).toEqual([]);
  });

  it('that a service answers with stays within its place too', () => {
    const follow = urlTemplate('/v1/{+answer.name}', 'status.url', { relative: true });
    const answered = (name: string) => follow({ ...values({}), answer: { name } });
    expect(answered('projects/p/operations/ä?b')).toBe('/v1/projects/p/operations/%C3%A4%3Fb');
    for (const name of ['../admin', 'a//b', '/x', 'a/..']) expect(() => answered(name)).toThrow(NonRetryableError);
  });
});
