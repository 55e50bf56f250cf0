import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type OAuthOptions, oauth } from '../../../src/server/index.ts';
import { deferred } from '../../support/engine.ts';
import { guarded, whoami } from './guarded.ts';
import { issuer, RESOURCE } from './issuer.ts';

// Where the keys come from, and what happens while they do not come.

async function protectedServer(options: Partial<OAuthOptions> = {}, path = '') {
  const login = await issuer(path);
  const auth = oauth({ issuer: login.url, jwksUri: login.jwksUri, resource: RESOURCE, ...options });
  return { login, ...(await guarded(auth)) };
}

const failing = (status: number) => (_: unknown, response: ServerResponse) => void response.writeHead(status).end('{}');

describe("an issuer's keys", () => {
  it('can be replaced without a restart: old tokens stop, new ones work', async () => {
    const { login, status, as } = await protectedServer({ jwksCooldownMs: 0 });
    const old = await login.sign();
    expect(await status(old)).toBe(200);
    await login.rotate('second', 'RS256');
    const renewed = await login.sign();
    expect(await status(renewed)).toBe(200);
    expect(await status(old)).toBe(401);
    await whoami(as(renewed));
  });

  it.each(['RS256', 'PS256', 'ES384', 'EdDSA'])('may be of another kind: %s', async (alg) => {
    const { login, as } = await protectedServer();
    await login.rotate('first', alg);
    await whoami(as(await login.sign()));
  });

  it('need not be named while there is one', async () => {
    const { login, as, attempt } = await protectedServer({ jwksCooldownMs: 0 });
    const nameless = await login.sign({}, { header: { kid: undefined } });
    await whoami(as(nameless));
    const { keys } = (await (await fetch(login.jwksUri)).json()) as { keys: object[] };
    login.answer = (_, response) =>
      void response.end(JSON.stringify({ keys: [...keys, { ...keys[0], kid: 'second' }] }));
    expect((await attempt(`Bearer ${await login.sign({}, { header: { kid: 'second' } })}`)).status).toBe(200);
    const refused = await attempt(`Bearer ${nameless}`);
    expect(refused.status).toBe(401);
    expect(await refused.text()).toContain('does not say which key');
  });

  it('are asked for once per cooldown, however many tokens name others', async () => {
    const { login, status, as } = await protectedServer();
    await whoami(as(await login.sign()));
    for (let n = 0; n < 5; n += 1) {
      expect(await status(await login.sign({}, { header: { kid: `made up ${n}` } }))).toBe(401);
    }
    expect(login.requests).toEqual(['/jwks']);
  });

  it.each([
    ['answers 500', failing(500)],
    ['answers 404', failing(404)],
    ['answers something else', (_: unknown, response: ServerResponse) => void response.end('<html>')],
    ['hangs up', (_: unknown, response: ServerResponse) => void response.destroy()],
    [
      'sends us elsewhere',
      (_: unknown, response: ServerResponse) =>
        void response.writeHead(302, { location: 'http://127.0.0.1/keys' }).end(),
    ],
    ['never answers', () => {}],
  ])('that cannot be had, since its server %s, are no reason to throw a token away', async (_, answer) => {
    const { login, attempt, as, log } = await protectedServer({ jwksCooldownMs: 0, jwksTimeoutMs: 50 });
    login.answer = answer;
    const token = await login.sign();
    const refused = await attempt(`Bearer ${token}`);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('www-authenticate')).toBeNull();
    const body = await refused.text();
    expect(JSON.parse(body)).toMatchObject({ error: 'temporarily_unavailable' });
    const told = log.filter(({ level }) => level === 'error');
    expect(told).toEqual([
      {
        level: 'error',
        fields: { reason: expect.stringContaining(`the keys of ${login.url} cannot be had`) },
        message: 'tokens cannot be checked',
      },
    ]);
    expect(body + JSON.stringify(log)).not.toContain(token);

    login.answer = undefined;
    await whoami(as(token));
  });

  it('that were had before serve on while their server is down', async () => {
    const { login, status, as } = await protectedServer({ jwksCooldownMs: 0 });
    const token = await login.sign();
    await whoami(as(token));
    login.answer = failing(500);
    expect(await status(token)).toBe(200);
    // Whether this one is good nobody can say.
    expect(await status(await login.sign({}, { header: { kid: 'next' } }))).toBe(503);
    expect(await status(token)).toBe(200);
  });

  it.each([404, 500, 200])(
    'are not asked for by every request while their server answers %i and no keys',
    async (code) => {
      const { login, status, peer } = await protectedServer();
      login.answer = failing(code);
      const token = await login.sign();
      for (let n = 0; n < 5; n += 1) expect(await status(token)).toBe(503);
      expect(login.requests).toEqual(['/jwks']);
      await peer.send('tools/list', {});
    },
  );

  it('that are slow to come keep everybody waiting, for one answer', async () => {
    const { login, as } = await protectedServer();
    const asked = deferred();
    const held: (() => void)[] = [];
    const keys = deferred<string>();
    login.answer = (_, response) => {
      held.push(() => void keys.promise.then((body) => response.end(body)));
      held.at(-1)!();
      asked.resolve();
    };
    const token = await login.sign();
    const waiting = [whoami(as(token)), whoami(as(token)), whoami(as(token))];
    await asked.promise;
    login.answer = undefined;
    keys.resolve(await (await fetch(login.jwksUri)).text());
    for (const one of await Promise.all(waiting)) expect(one).toEqual({ subject: `${login.url}|alice` });
    expect(held).toHaveLength(1);
  });
});

describe("an issuer's metadata", () => {
  it.each([
    ['', '/.well-known/oauth-authorization-server'],
    ['', '/.well-known/openid-configuration'],
    ['/realms/one', '/.well-known/oauth-authorization-server/realms/one'],
    ['/realms/one', '/.well-known/openid-configuration/realms/one'],
    ['/realms/one', '/realms/one/.well-known/openid-configuration'],
  ])('says where its keys are: %s %s', async (path, place) => {
    const login = await issuer(path);
    login.metadata[place] = { issuer: login.url, jwks_uri: login.jwksUri };
    const { as } = await guarded(oauth({ issuer: login.url, resource: RESOURCE }));
    const token = await login.sign();
    await whoami(as(token));
    await whoami(as(token));
    expect(login.requests.slice(-2)).toEqual([place, '/jwks']);
  });

  it.each([
    ['is of another issuer', { issuer: 'https://login.example' }, /is of another issuer/],
    ['names no keys', { jwks_uri: undefined }, /names no jwks_uri/],
    ['names keys that anybody could replace', { jwks_uri: 'http://login.example/jwks' }, /must be an https URL/],
  ])('that %s is not followed, and read again later', async (_, wrong, reason) => {
    const login = await issuer();
    const place = '/.well-known/oauth-authorization-server';
    const metadata = { issuer: login.url, jwks_uri: login.jwksUri };
    login.metadata[place] = { ...metadata, ...wrong };
    const { as, status, log } = await guarded(oauth({ issuer: login.url, resource: RESOURCE, jwksCooldownMs: 0 }));
    const token = await login.sign();
    expect(await status(token)).toBe(503);
    expect(log.at(-1)).toMatchObject({ fields: { reason: expect.stringMatching(reason) } });
    login.metadata[place] = metadata;
    await whoami(as(token));
  });
});
