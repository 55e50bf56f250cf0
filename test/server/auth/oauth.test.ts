import { generateKeyPair } from 'jose';
import { describe, expect, it } from 'vitest';
import { createTaskHandler, type OAuthOptions, oauth, type TaskServerOptions } from '../../../src/server/index.ts';
import type { Json } from '../../support/messages.ts';
import { Peer } from '../peer.ts';
import { bearing, guarded, whoami } from './guarded.ts';
import { type Issuer, issuer, RESOURCE } from './issuer.ts';

const METADATA_URL = 'https://tasks.example/.well-known/oauth-protected-resource/mcp';

async function protectedServer(options: Partial<OAuthOptions> = {}, server?: TaskServerOptions) {
  const login = await issuer();
  const auth = oauth({ issuer: login.url, jwksUri: login.jwksUri, resource: RESOURCE, ...options });
  return { login, ...(await guarded(auth, server && { server })) };
}

const seconds = (fromNow: number): number => Math.floor(Date.now() / 1_000) + fromNow;

function unsigned(claims: Json, header: Json): string {
  return `${[header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;
}

describe('a server with oauth', () => {
  it('lets a good token in, as issuer and subject and whatever its client', async () => {
    const { login, as } = await protectedServer();
    const principal = { subject: `${login.url}|alice` };
    expect(await whoami(as(await login.sign()))).toEqual(principal);
    expect(await whoami(as(await login.sign({ client_id: 'another app', aud: ['x', RESOURCE] })))).toEqual(principal);
    expect(await whoami(as(await login.sign({ sub: 'bob' })))).toEqual({ subject: `${login.url}|bob` });
    expect(login.requests).toEqual(['/jwks']);
  });

  it('tells who brings none where to get one', async () => {
    const { login, url, attempt, as } = await protectedServer({ requiredScopes: ['tasks'] });
    const refused = await attempt();
    expect(refused.status).toBe(401);
    const challenge = refused.headers.get('www-authenticate');
    expect(challenge).toMatch(/^Bearer /);
    expect(challenge).toContain(`resource_metadata="${METADATA_URL}"`);
    expect(challenge).toContain('scope="tasks"');

    const { origin } = new URL(url);
    const metadata = await fetch(`${origin}${new URL(METADATA_URL).pathname}`);
    expect(await metadata.json()).toEqual({
      resource: RESOURCE,
      authorization_servers: [login.url],
      scopes_supported: ['tasks'],
    });
    for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/oauth-protected-resource/other']) {
      expect((await fetch(`${origin}${path}`)).status).toBe(404);
    }
    expect(login.requests).toEqual([]);
    expect(await whoami(as(await login.sign({ scope: 'tasks' })))).toBeDefined();
  });

  const forgeries: [string, RegExp, (login: Issuer) => Promise<string> | string][] = [
    [
      'signed by somebody else',
      /signature/,
      async (login) => {
        const { privateKey } = await generateKeyPair('ES256');
        return login.sign({}, { key: privateKey });
      },
    ],
    [
      'changed on its way',
      /signature/,
      async (login) => {
        const [header, , signature] = (await login.sign()).split('.');
        const [, claims] = (await login.sign({ sub: 'root' })).split('.');
        return [header, claims, signature].join('.');
      },
    ],
    ['expired', /expired/, (login) => login.sign({ exp: seconds(-31) })],
    ['that never expires', /claim exp/, (login) => login.sign({ exp: undefined })],
    ['not valid yet', /not valid yet/, (login) => login.sign({ nbf: seconds(60) })],
    ['for another server', /another server/, (login) => login.sign({ aud: 'https://tasks.example/other' })],
    ['for a server whose name begins as ours', /another server/, (login) => login.sign({ aud: `${RESOURCE}/x` })],
    ['for nobody', /another server/, (login) => login.sign({ aud: undefined })],
    ['of another issuer', /another issuer/, (login) => login.sign({ iss: 'https://login.example' })],
    ['of an issuer but for a slash', /another issuer/, (login) => login.sign({ iss: `${login.url}/` })],
    ['of no issuer', /another issuer/, (login) => login.sign({ iss: undefined })],
    ['signed with an unknown key', /unknown key/, (login) => login.sign({}, { header: { kid: 'other' } })],
    [
      'without a signature',
      /not accepted/,
      ({ url: iss }) => unsigned({ iss, sub: 'alice', aud: RESOURCE, exp: seconds(60) }, { alg: 'none' }),
    ],
    [
      'signed with a shared secret',
      /not accepted/,
      (login) => login.sign({}, { header: { alg: 'HS256' }, key: new TextEncoder().encode('x'.repeat(32)) }),
    ],
    ['without a subject', /whose it is/, (login) => login.sign({ sub: undefined })],
    ['with an empty subject', /whose it is/, (login) => login.sign({ sub: '' })],
    ['with a part missing', /malformed/, async (login) => (await login.sign()).split('.').slice(1).join('.')],
    ['of nothing but dots', /malformed/, () => '..'],
    ['that is no JSON', /malformed/, () => 'eA.eA.eA'],
  ];

  it.each(forgeries)('refuses a token %s', async (_, reason, make) => {
    const { login, attempt, as, log } = await protectedServer();
    const token = await make(login);
    const refused = await attempt(`Bearer ${token}`);
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toContain(METADATA_URL);
    expect(refused.headers.get('www-authenticate')).toMatch(/error="invalid_token"/);
    const body = await refused.text();
    expect(JSON.parse(body)).toMatchObject({
      error: 'invalid_token',
      error_description: expect.stringMatching(reason),
    });
    expect(log).toContainEqual({
      level: 'info',
      fields: { reason: expect.stringMatching(reason) },
      message: 'a token was refused',
    });
    if (token.length > 2) expect(body + JSON.stringify(log)).not.toContain(token);
    expect(await whoami(as(await login.sign()))).toBeDefined();
  });

  it.each([
    ['Basic', 'Basic abc'],
    ['nothing', 'Bearer'],
    ['two', 'Bearer a, Bearer b'],
    ['just text', 'abc'],
  ])('refuses a header with %s', async (_, header) => {
    const { login, attempt, as } = await protectedServer();
    expect((await attempt(header)).status).toBe(401);
    await whoami(as(await login.sign()));
  });

  it.each<[Json]>([
    [{ alg: 7 }],
    [{ alg: 'ES256', kid: {} }],
    [{ alg: 'ES256', kid: '__proto__' }],
    [{ alg: 'RS256', kid: 'first' }],
    [{ alg: 'ES256', kid: 'first', crit: ['b64'], b64: false }],
    [{ alg: 'ES256', kid: 'first', crit: ['x'], x: 1 }],
    [{ alg: 'ES256', jwk: { kty: 'oct', k: 'AA' } }],
    [{ alg: 'ES256', jku: 'http://127.0.0.1:1/jwks', kid: 'evil' }],
    [{ alg: 'dir', enc: 'A128GCM' }],
    [{}],
  ])('refuses, and never fails at, a token that begins with %j', async (header) => {
    const { login, status, as, log } = await protectedServer();
    const claims = { iss: login.url, sub: 'alice', aud: RESOURCE, exp: seconds(60) };
    for (const signature of ['', 'AA', Buffer.alloc(64, 7).toString('base64url'), '!']) {
      expect(await status(`${unsigned(claims, header)}${signature}`)).toBe(401);
    }
    expect(log.filter(({ level }) => level === 'error')).toEqual([]);
    await whoami(as(await login.sign()));
  });

  it('takes clocks into account that differ a little', async () => {
    const { login, status, as } = await protectedServer();
    expect(await status(await login.sign({ exp: seconds(-10), nbf: seconds(10) }))).toBe(200);
    await whoami(as(await login.sign()));
  });

  it('asks for scopes, wherever an issuer puts them', async () => {
    const { login, attempt, status, as } = await protectedServer({ requiredScopes: ['tasks', 'read'] });
    for (const claims of [{}, { scope: 'tasks' }, { scope: 'tasks:read' }, { scp: ['read'] }, { scope: 7 }]) {
      const refused = await attempt(`Bearer ${await login.sign(claims)}`);
      expect(refused.status).toBe(403);
      const challenge = refused.headers.get('www-authenticate');
      expect(challenge).toContain('error="insufficient_scope"');
      expect(challenge).toContain('scope="tasks read"');
      expect(challenge).toContain(METADATA_URL);
    }
    for (const claims of [{ scp: ['tasks', 'read', 'more'] }, { scp: 'read tasks' }]) {
      expect(await status(await login.sign(claims))).toBe(200);
    }
    await whoami(as(await login.sign({ scope: 'read tasks' })));
  });

  it('has tenants by a claim, without which a token is refused', async () => {
    const { login, status, as } = await protectedServer({ tenantClaim: 'org' });
    expect(await whoami(as(await login.sign({ org: 'acme' })))).toEqual({
      tenant: 'acme',
      subject: `${login.url}|alice`,
    });
    for (const org of [undefined, '', 7, ['acme']]) expect(await status(await login.sign({ org }))).toBe(401);
  });

  it('can know itself whose a token is', async () => {
    const principal = ({ auth }: { auth?: { clientId?: string } | undefined }) => ({
      subject: `app ${auth?.clientId}`,
    });
    const { login, as } = await protectedServer({}, { principal });
    expect(await whoami(as(await login.sign({ sub: undefined })))).toEqual({ subject: 'app the app' });
  });

  it('can be a handler inside another, which has no say in who it is', async () => {
    const { login, tasks, peer, validator, as } = await protectedServer();
    const auth = oauth({ issuer: login.url, jwksUri: login.jwksUri, resource: RESOURCE });
    const { McpServer } = await import('@modelcontextprotocol/server');
    const handler = createTaskHandler(tasks, () => new McpServer({ name: 's', version: '1.0.0' }), { auth });
    const authInfo = { token: 't', clientId: 'c', scopes: [], extra: { iss: login.url, sub: 'alice' } };
    const body = JSON.stringify(peer.request('tools/list', {}));
    const request = new Request('http://127.0.0.1/mcp', { method: 'POST', body });
    expect((await handler.fetch(request, { authInfo })).status).toBe(401);
    expect((await handler.fetch(new Request(METADATA_URL))).status).toBe(200);
    const bob = bearing((request) => handler.fetch(request, { authInfo }), await login.sign({ sub: 'bob' }));
    expect(await whoami(new Peer(bob, validator))).toEqual({ subject: `${login.url}|bob` });
    await whoami(as(await login.sign()));
  });
});

describe('oauth', () => {
  const good = { issuer: 'https://login.example', resource: RESOURCE };

  it.each<[Partial<OAuthOptions>, RegExp]>([
    [{ issuer: 'http://login.example' }, /issuer must be an https URL/],
    [{ issuer: 'login.example' }, /issuer: "login.example" is not a URL/],
    [{ issuer: 'https://login.example?x=1' }, /query/],
    [{ jwksUri: 'http://login.example/jwks' }, /jwksUri must be an https URL/],
    [{ jwksUri: 'file:///etc/keys' }, /jwksUri must be an https URL/],
    [{ resource: 'https://me:secret@tasks.example' }, /resource must not carry a password/],
    [{ resource: `${RESOURCE}#x` }, /fragment/],
    [{ audience: '' }, /audience must not be empty/],
    [{ clockToleranceSec: -1 }, /clockToleranceSec must be a whole number from 0 to 600, got -1/],
    [{ clockToleranceSec: 601 }, /clockToleranceSec/],
    [{ jwksCooldownMs: 0.5 }, /jwksCooldownMs/],
    [{ jwksTimeoutMs: 0 }, /jwksTimeoutMs/],
  ])('says at once what cannot work: %j', (options, message) => {
    expect(() => oauth({ ...good, ...options })).toThrow(message);
  });
});
