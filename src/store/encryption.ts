import { createSecretKey, KeyObject } from 'node:crypto';
import { isJsonObject } from '../core/index.ts';
import { readPrivateFile } from './private-file.ts';
import type { KeyRing } from './sql/vault.ts';

/** Keys by id. Ids are 1 to 64 letters, digits, `.`, `_` and `-`, and are kept in the store beside what the key sealed. */
export interface EncryptionKeys {
  /** The id of the key that seals what is new. */
  use: string;
  /** 32 random bytes each: as bytes, as a secret `KeyObject`, or as base64 text. All that may have sealed something. */
  keys: Readonly<Record<string, Uint8Array | KeyObject | string>>;
}

/** Where the keys are: given, or in a JSON file `{ "use": "id", "keys": { "id": "base64" } }` that only its owner may read. */
export type EncryptionOptions = EncryptionKeys | { file: string };

const KEY_BYTES = 32;
const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** @throws {TypeError} {Error} when there are no usable keys; the message names the key and says what is wrong, never its bytes. */
export function keyRing(options: EncryptionOptions): KeyRing {
  return 'file' in options ? ringOfFile(options.file) : ringOf(options, 'encryption');
}

function ringOfFile(path: string): KeyRing {
  const { text } = readPrivateFile(path, 'key file');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Error(`key file ${path} is not JSON`); // What the parser says quotes the file.
  }
  return ringOf(body, `key file ${path}`);
}

function ringOf(options: unknown, where: string): KeyRing {
  const { use, keys } = isJsonObject(options) ? (options as unknown as Partial<EncryptionKeys>) : {};
  if (typeof use !== 'string' || typeof keys !== 'object' || keys === null) {
    throw new TypeError(`${where}: expected { use: 'id', keys: { 'id': 32 bytes or their base64 } }`);
  }
  const ring = new Map(Object.entries(keys).map(([id, key]) => [checkedId(id, where), secretOf(key, id, where)]));
  if (!ring.has(use))
    throw new TypeError(`${where}: use names key ${JSON.stringify(use)}, which is not among the keys`);
  return { use, keys: ring };
}

function checkedId(id: string, where: string): string {
  if (KEY_ID.test(id)) return id;
  throw new TypeError(
    `${where}: the id of a key must be 1 to 64 letters, digits, ".", "_" or "-", got ${JSON.stringify(id)}`,
  );
}

function secretOf(key: unknown, id: string, where: string): KeyObject {
  const secret = key instanceof KeyObject ? key : key instanceof Uint8Array ? createSecretKey(key) : decoded(key);
  if (secret?.type === 'secret' && secret.symmetricKeySize === KEY_BYTES) return secret;
  throw new TypeError(
    `${where}: key "${id}" must be ${KEY_BYTES} random bytes, or their base64 (openssl rand -base64 ${KEY_BYTES})`,
  );
}

/** Decoding forgives strange letters; a key has one spelling, with or without the sign at its end. */
function decoded(key: unknown): KeyObject | undefined {
  if (typeof key !== 'string') return undefined;
  const bytes = Buffer.from(key, 'base64');
  const spelling = (text: string): string => text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '');
  if (bytes.length !== KEY_BYTES || spelling(bytes.toString('base64')) !== spelling(key.trim())) return undefined;
  return createSecretKey(bytes);
}
