import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TokenFile } from '../../../src/server/auth/token-file.ts';
import { findToken } from '../../../src/server/auth/token-list.ts';
import { type BearerToken, bearerTokens } from '../../../src/server/index.ts';
import { scratchFolder } from '../../support/stores.ts';
import { LegacyPeer } from '../legacy-peer.ts';
import { guarded, whoami } from './guarded.ts';

const TOKEN = '3f1c9a7be0d24586b1c7a9e02d4f6385';
const OTHER = 'Yk2rT9_wQx7Zb4Lm-Nc8Vd1Hs6Jf3Gp0';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('a server with bearer tokens', () => {
  it('lets in who brings one, as its subject and tenant', async () => {
    const auth = bearerTokens({
      tokens: [
        { token: TOKEN, subject: 'alice' },
        { tokenHash: sha256(OTHER).toUpperCase(), subject: 'bob', tenant: 'acme' },
      ],
    });
    const { as, status, attempt } = await guarded(auth);
    expect(await whoami(as(TOKEN))).toEqual({ subject: 'tokens|alice' });
    expect(await whoami(as(OTHER))).toEqual({ tenant: 'acme', subject: 'tokens|bob' });
    const wrong = [TOKEN.slice(1), `${TOKEN}0`, TOKEN.toUpperCase(), sha256(TOKEN), sha256(OTHER), 'x', `${TOKEN}=`];
    for (const token of wrong) expect(await status(token)).toBe(401);
    expect((await attempt()).headers.get('www-authenticate')).toMatch(/^Bearer error="invalid_token"/);
    expect((await attempt(`bearer ${TOKEN}`)).status).toBe(200);
  });

  it('keeps its users apart, from each other and from who sits on this machine', async () => {
    const tokens = [
      { token: TOKEN, subject: 'local' },
      { token: OTHER, subject: 'anonymous' },
    ];
    const { as, peer } = await guarded(bearerTokens({ tokens }));
    const { taskId } = await as(TOKEN).start('slow');
    expect((await as(TOKEN).get(taskId)).result).toMatchObject({ taskId });
    expect((await as(OTHER).get(taskId)).error.code).toBe(-32602);
    expect((await peer.get(taskId)).error.code).toBe(-32602);
    const session = await LegacyPeer.connect({ peer: as(TOKEN) });
    expect((await session.send('tasks/list')).result['tasks']).toMatchObject([{ taskId }]);
    expect((await session.on({ peer: as(OTHER) }).send('tasks/list')).status).toBe(404);
  });

  it('lets nobody in past the end of a token, or without its scopes', async () => {
    const auth = bearerTokens({
      requiredScopes: ['tasks'],
      tokens: [
        { token: TOKEN, subject: 'alice', scopes: ['tasks'], expiresAt: '2020-01-01T00:00:00Z' },
        { token: OTHER, subject: 'bob' },
        { token: `${TOKEN}2`, subject: 'alice', scopes: ['tasks', 'more'], expiresAt: '2999-01-01T00:00:00+02:00' },
      ],
    });
    const { as, attempt, status } = await guarded(auth);
    expect(await status(TOKEN)).toBe(401);
    const refused = await attempt(`Bearer ${OTHER}`);
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('scope="tasks"');
    await whoami(as(`${TOKEN}2`));
  });

  it.each<[Record<string, unknown>, RegExp]>([
    [{ token: 'secret' }, /can be guessed/],
    [{ token: TOKEN.slice(0, 31) }, /can be guessed/],
    [{ token: '123456789012345678901234567890123' }, /can be guessed/],
    [{ token: 'a'.repeat(64) }, /can be guessed/],
    [{ token: `${OTHER} x` }, /letters, digits/],
    [{ token: '' }, /letters, digits/],
    [{ token: 7 }, /letters, digits/],
    [{}, /either token or tokenHash/],
    [{ token: TOKEN, tokenHash: sha256(TOKEN) }, /either token or tokenHash/],
    [{ tokenHash: TOKEN }, /64 hex digits/],
    [{ token: TOKEN, subject: '' }, /subject/],
    [{ token: TOKEN, subject: undefined }, /subject/],
    [{ token: TOKEN, tenant: '' }, /tenant/],
    [{ token: TOKEN, scopes: 'tasks' }, /scopes/],
    [{ token: TOKEN, expiresAt: '2030-01-01' }, /with its zone/],
    [{ token: TOKEN, expiresAt: '2030-01-01T00:00:00' }, /with its zone/],
    [{ token: TOKEN, expiresAt: 'soonTZ' }, /with its zone/],
    [{ token: TOKEN, expires: '2030-01-01T00:00:00Z' }, /"expires" means nothing here/],
  ])('refuses to start with %j, without saying it', (entry, message) => {
    const tokens = [{ token: OTHER, subject: 'bob' }, { subject: 'alice', ...entry } as BearerToken];
    expect(() => bearerTokens({ tokens })).toThrow(TypeError);
    expect(() => bearerTokens({ tokens })).toThrow(message);
    expect(() => bearerTokens({ tokens })).toThrow('tokens[1]');
    const { token } = entry;
    if (typeof token === 'string' && token !== '') expect(() => bearerTokens({ tokens })).not.toThrow(token);
  });

  it('refuses to start with a token that is in the list twice', () => {
    const tokens = [
      { token: TOKEN, subject: 'alice' },
      { tokenHash: sha256(TOKEN), subject: 'bob' },
    ];
    expect(() => bearerTokens({ tokens })).toThrow(/tokens\[1\]: this token is in the list already/);
  });
});

function tokenFile(content: unknown = { tokens: [{ token: TOKEN, subject: 'alice' }] }) {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  const path = `${folder.path}/tokens.json`;
  const write = (next: unknown, mode = 0o600, to = path): void => {
    writeFileSync(to, typeof next === 'string' ? next : JSON.stringify(next));
    chmodSync(to, mode);
  };
  write(content);
  return { path, folder: folder.path, write };
}

describe('a token file', () => {
  it('counts as it is now: an old token stops and a new one works, without a restart', async () => {
    const { path, write } = tokenFile();
    const { as, status } = await guarded(bearerTokens({ file: path }));
    const { taskId } = await as(TOKEN).start('slow');
    // Of the same length, at the same moment: neither size nor time need give it away.
    const next = [...TOKEN].reverse().join('');
    write({ tokens: [{ token: next, subject: 'alice' }] });
    expect(await status(TOKEN)).toBe(401);
    expect((await as(next).get(taskId)).result).toMatchObject({ taskId });

    // Put in its place as a whole, as careful tools do it.
    write({ tokens: [{ token: OTHER, subject: 'alice' }] }, 0o600, `${path}.new`);
    renameSync(`${path}.new`, path);
    expect(await status(next)).toBe(401);
    expect((await as(OTHER).get(taskId)).result).toMatchObject({ taskId });
  });

  it('is read again however quickly it changes, and only if it did', () => {
    const { path, write } = tokenFile();
    const file = new TokenFile(path);
    for (let n = 0; n < 300; n += 1) {
      const token = sha256(`token ${n}`);
      write({ tokens: [{ token, subject: 'alice' }] });
      expect(findToken(file.tokens(), token)).toBeDefined();
    }
    const settled = new TokenFile(path, () => Date.now() + 1_000);
    const tokens = settled.tokens();
    expect(settled.tokens()).toBe(tokens);
    write({ tokens: [{ token: OTHER, subject: 'alice' }] });
    expect(findToken(settled.tokens(), OTHER)).toBeDefined();
  });

  it('that cannot be used any more lets nobody in until it can', async () => {
    const { path, write } = tokenFile();
    const { as, attempt, log } = await guarded(bearerTokens({ file: path }));
    await whoami(as(TOKEN));
    const good = { tokens: [{ token: TOKEN, subject: 'alice' }] };
    const damages: [() => void, RegExp][] = [
      [() => write(`{ "tokens": [{ "token": "${TOKEN}"`), /is not JSON/],
      [() => write({ tokens: [{ token: 'weak', subject: 'alice' }] }), /tokens\[0\]: token can be guessed/],
      [() => rmSync(path), /ENOENT/],
    ];
    if (process.platform !== 'win32') damages.push([() => write(good, 0o644), /open to others \(mode 644\)/]);
    for (const [damage, reason] of damages) {
      damage();
      const refused = await attempt(`Bearer ${TOKEN}`);
      expect(refused.status).toBe(503);
      expect(await refused.text()).not.toContain(path);
      expect(log.at(-1)).toMatchObject({ level: 'error', fields: { reason: expect.stringMatching(reason) } });
      write(good);
      await whoami(as(TOKEN));
    }
    expect(JSON.stringify(log)).not.toContain(TOKEN);
  });

  it.skipIf(process.platform === 'win32').each([0o640, 0o604, 0o660, 0o644, 0o620, 0o602])(
    'that others may use is refused at once: mode %o',
    (mode) => {
      const { path } = tokenFile();
      chmodSync(path, mode);
      expect(() => bearerTokens({ file: path })).toThrow(
        `is open to others (mode ${mode.toString(8)}): chmod 600 ${path}`,
      );
    },
  );

  it('that is none is refused at once', () => {
    const { folder, path, write } = tokenFile();
    expect(() => bearerTokens({ file: `${folder}/missing` })).toThrow(/ENOENT.*missing/);
    mkdirSync(`${folder}/other`, { mode: 0o700 });
    expect(() => bearerTokens({ file: `${folder}/other` })).toThrow(/is not a file/);
    for (const [content, message] of [
      [TOKEN, /is not JSON/],
      [[TOKEN], /must be \{ "tokens"/],
      [{ tokens: { token: TOKEN } }, /tokens must be a list/],
      [{ tokens: [TOKEN] }, /tokens\[0\]: must be an object/],
    ] as const) {
      write(content);
      expect(() => bearerTokens({ file: path })).toThrow(message);
      expect(() => bearerTokens({ file: path })).not.toThrow(TOKEN);
    }
  });
});
