import { createHmac } from 'node:crypto';
import { resolve } from 'node:path';
import { canonicalJson, type JsonValue } from '../../core/index.ts';
import type { UpstreamTarget } from '../config/types.ts';

const KEY_LETTERS = 22;

/**
 * What upstreams are told apart by: 22 letters that are equal only for equal targets, names and values of the environment and of
 * headers included. Nothing of a target can be learned from it without the secret.
 */
export function upstreamKey(target: UpstreamTarget, secret: Uint8Array): string {
  return createHmac('sha256', secret)
    .update(canonicalJson(parts(target)))
    .digest('base64url')
    .slice(0, KEY_LETTERS);
}

function parts(target: UpstreamTarget): JsonValue {
  if ('url' in target) {
    const { url, headers, forwardAuthorization } = target;
    return { url, headers: { ...headers }, forwardAuthorization };
  }
  const { command, args, cwd, env } = target;
  return { command, args: [...args], cwd: resolve(cwd ?? '.'), env: { ...env } };
}
