import { createHash } from 'node:crypto';

/** What stands for a text where the text itself must not: the same for the same text, and nothing is read out of it. */
export function fingerprint(text: string, encoding: 'hex' | 'base64url', length?: number): string {
  return createHash('sha256').update(text).digest(encoding).slice(0, length);
}
