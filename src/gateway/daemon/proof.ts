import { createHmac, timingSafeEqual } from 'node:crypto';

/** What both sides said in the open. */
export interface Challenge {
  front: { version: string; nonce: string };
  daemon: { version: string; nonce: string };
}

/** Shows that one side knows the secret. It names the side, so that nobody gets through by repeating what it heard. */
export function prove(secret: Buffer, side: 'front' | 'daemon', { front, daemon }: Challenge): string {
  const said = ['longcall', side, front.version, front.nonce, daemon.version, daemon.nonce];
  return createHmac('sha256', secret).update(JSON.stringify(said)).digest('base64url');
}

export function isProof(given: unknown, secret: Buffer, side: 'front' | 'daemon', challenge: Challenge): boolean {
  if (typeof given !== 'string') return false;
  const expected = Buffer.from(prove(secret, side, challenge));
  const actual = Buffer.from(given);
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}
