import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import type { Principal } from '../core/index.ts';

const ALGORITHM = 'aes-256-ctr';
const TAG_BYTES = 16;
const MIN_SECRET_BYTES = 32;
/** Nothing we seal comes near it. */
const MAX_TOKEN_LENGTH = 4_096;

/** Binds a token to what it is for and to whom it is given: nobody else can use it, nor he for anything else. */
export function boundTo(purpose: string, { tenant = '', subject }: Principal): readonly string[] {
  return [purpose, tenant, subject];
}

/**
 * Makes tokens that a peer can carry but not read, change or lend: a token opens only with the secret it was made with,
 * and only for what it was bound to. The same text bound to the same gives the same token, on every process that holds
 * the secret.
 *
 * Signing alone would not do: what is sealed may name rows of other principals. So the signature doubles as the
 * initialisation vector of a cipher (a synthetic IV, as in RFC 5297), which needs no randomness.
 */
export class Seal {
  readonly #signing: Buffer;
  readonly #hiding: Buffer;

  /**
   * @param secret random bytes that every process which has to open the tokens shares
   * @throws {RangeError} when it has fewer than 32 bytes
   */
  constructor(secret: Uint8Array) {
    if (secret.byteLength < MIN_SECRET_BYTES) {
      throw new RangeError(`seal: the secret must have at least ${MIN_SECRET_BYTES} bytes, got ${secret.byteLength}`);
    }
    this.#signing = createHmac('sha256', secret).update('longcall seal: signing').digest();
    this.#hiding = createHmac('sha256', secret).update('longcall seal: hiding').digest();
  }

  /** A URL-safe token. @param boundTo what it is for, and for whom; has to be said again to open it */
  close(text: string, boundTo: readonly string[]): string {
    const bytes = Buffer.from(text, 'utf8');
    const tag = this.#sign(bytes, boundTo);
    const cipher = createCipheriv(ALGORITHM, this.#hiding, tag);
    return Buffer.concat([tag, cipher.update(bytes), cipher.final()]).toString('base64url');
  }

  /** The text of a token that was made for just this, else `undefined`; which it is that is wrong, nobody learns. */
  open(token: string, boundTo: readonly string[]): string | undefined {
    if (token.length > MAX_TOKEN_LENGTH) return undefined;
    const sealed = Buffer.from(token, 'base64url');
    // Decoding forgives strange letters; a token has one spelling.
    if (sealed.byteLength < TAG_BYTES || sealed.toString('base64url') !== token) return undefined;
    const tag = sealed.subarray(0, TAG_BYTES);
    const cipher = createDecipheriv(ALGORITHM, this.#hiding, tag);
    const bytes = Buffer.concat([cipher.update(sealed.subarray(TAG_BYTES)), cipher.final()]);
    return timingSafeEqual(tag, this.#sign(bytes, boundTo)) ? bytes.toString('utf8') : undefined;
  }

  /** JSON text has no NUL, so no two bindings and texts run into each other. */
  #sign(bytes: Uint8Array, boundTo: readonly string[]): Buffer {
    const mac = createHmac('sha256', this.#signing)
      .update(`${JSON.stringify(boundTo)}\0`)
      .update(bytes);
    return mac.digest().subarray(0, TAG_BYTES);
  }
}
