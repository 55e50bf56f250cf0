import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';
import type { Json } from '../../support/messages.ts';

/** What the servers of these tests are called by their clients; nothing ever connects to it. */
export const RESOURCE = 'https://tasks.example/mcp';

export interface Issuer {
  /** As tokens name it. */
  readonly url: string;
  readonly jwksUri: string;
  /** Paths that were asked for, in their order. */
  readonly requests: string[];
  /** Metadata to serve, by path. */
  readonly metadata: Record<string, Json>;
  /** Replaces all keys by a new one. */
  rotate(kid: string, alg?: string): Promise<CryptoKey>;
  /** A good token for alice, but for what is said. `undefined` takes a claim away. */
  sign(claims?: Json, options?: { header?: Json; key?: CryptoKey | Uint8Array }): Promise<string>;
  /** Answers this from now on instead of what was asked for; `undefined` ends that. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
}

/** An authorization server, as far as those who check its tokens see it. */
export async function issuer(path = ''): Promise<Issuer> {
  let keys: JWK[] = [];
  let current: { kid: string; alg: string; key: CryptoKey };
  const requests: string[] = [];
  const metadata: Record<string, Json> = {};
  const server = createServer((request, response) => {
    requests.push(String(request.url));
    if (self.answer !== undefined) return self.answer(request, response);
    const body = request.url === '/jwks' ? { keys } : metadata[String(request.url)];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify(body ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const self: Issuer = {
    url: `${origin}${path}`,
    jwksUri: `${origin}/jwks`,
    requests,
    metadata,
    answer: undefined,
    async rotate(kid, alg = 'ES256') {
      const { privateKey, publicKey } = await generateKeyPair(alg);
      keys = [{ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }];
      current = { kid, alg, key: privateKey };
      return privateKey;
    },
    sign(claims = {}, { header = {}, key = current.key } = {}) {
      const now = Math.floor(Date.now() / 1_000);
      const usual = { iss: self.url, sub: 'alice', aud: RESOURCE, iat: now, exp: now + 600, client_id: 'the app' };
      const { alg, kid } = current;
      return new SignJWT(JSON.parse(JSON.stringify({ ...usual, ...claims })) as JWTPayload)
        .setProtectedHeader({ alg, kid, ...header })
        .sign(key);
    },
  };
  await self.rotate('first');
  return self;
}
