import { createCipheriv, createDecipheriv, createHmac, type KeyObject } from 'node:crypto';
import {
  type RandomSource,
  Recent,
  StoreFailedError,
  StoreSealedError,
  shortId,
  type TaskId,
} from '../../core/index.ts';

// How a payload is sealed: AES-256-GCM with a key of the task's own, 96 random bits as nonce, and everything that says where
// the payload belongs as associated data, so that no row can stand in for another. As bytes, so that nothing a peer may
// write, which is kept as text, can look like it:
//
//   format (1) | length of the key's id (1) | id of the key | nonce (12) | ciphertext | tag (16)

const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ALGORITHM = 'aes-256-gcm';
/** Enough that no two things digested in one store come out the same. */
const DIGEST_BYTES = 16;
/** Keys of tasks that were used last, so that a task's many payloads cost one derivation. */
const RECENT_TASKS = 1_000;

declare const kept: unique symbol;
/** What a column holds of a payload: text as it is, or sealed bytes. Only a vault makes it and reads it. */
export interface Kept {
  readonly [kept]: true;
}

/** Where a payload belongs. What was sealed for one place opens in no other. */
export interface Place {
  /** Whose it is; empty for what belongs to the whole store. */
  task: TaskId | '';
  column: string;
  /** Which of the task's rows it is in, where there can be several. */
  row?: string | number;
}

export interface KeyRing {
  /** The id of the key that seals what is new. */
  use: string;
  keys: ReadonlyMap<string, KeyObject>;
}

/** What a vault needs to seal. */
export interface Sealing {
  ring: KeyRing;
  /** The store's own, for digests; it outlives every key. */
  digesting: Uint8Array;
  random: RandomSource;
}

/** Seals payloads on their way into the store and opens them on their way out. */
export class Vault {
  /** Of a store that seals nothing: payloads are kept as they are. */
  static readonly plain = new Vault(undefined, false);
  /** Of a store whose payloads are sealed, without any key: what is sealed stays shut, and no payload is written. */
  static readonly locked = new Vault(undefined, true);

  /** Nothing that holds a payload can be written here, nor decided about. */
  readonly isLocked: boolean;
  readonly #sealing: Sealing | undefined;
  readonly #taskKeys = new Recent<string, Buffer>(RECENT_TASKS);

  private constructor(sealing: Sealing | undefined, isLocked: boolean) {
    this.#sealing = sealing;
    this.isLocked = isLocked;
  }

  static sealing(sealing: Sealing): Vault {
    return new Vault(sealing, false);
  }

  /** The id of the key that seals what is new; undefined where nothing is sealed. */
  get use(): string | undefined {
    return this.#sealing?.ring.use;
  }

  /** The ids of all keys there are. */
  get keyIds(): string[] {
    return [...(this.#sealing?.ring.keys.keys() ?? [])];
  }

  /** @throws {StoreSealedError} when the store's payloads are sealed and there is no key to seal with. */
  seal(place: Place, text: string): Kept {
    const { task, column } = place;
    if (this.isLocked) throw new StoreSealedError(`${whatOf(place)} cannot be written: ${NO_KEYS}`);
    if (this.#sealing === undefined) return text as unknown as Kept;
    const { ring, random } = this.#sealing;
    const head = headOf(ring.use);
    const nonce = random.bytes(NONCE_BYTES);
    const key = this.#keyOf(ring.use, ring.keys.get(ring.use) as KeyObject, task);
    const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(associated(head, task, column, place.row));
    const ciphertext = cipher.update(text, 'utf8');
    cipher.final();
    return Buffer.concat([head, nonce, ciphertext, cipher.getAuthTag()]) as unknown as Kept;
  }

  /**
   * @throws {StoreSealedError} when it is sealed with a key that is not here.
   * @throws {StoreFailedError} when it does not open: it was changed, or taken from another place.
   */
  open(place: Place, payload: Kept): string {
    const bytes = sealedBytes(payload);
    if (bytes === undefined) return payload as unknown as string;
    const keyId = keyIdOf(payload) as string;
    const master = this.#sealing?.ring.keys.get(keyId);
    if (master === undefined) {
      throw new StoreSealedError(
        `${whatOf(place)} is encrypted with key "${keyId}", which this process does not have: ${GIVE_KEYS}`,
        keyId,
      );
    }
    const head = bytes.subarray(0, 2 + keyId.length);
    const sealed = bytes.subarray(head.length);
    const cut = sealed.length - TAG_BYTES;
    try {
      if (head[0] !== FORMAT || cut < NONCE_BYTES) throw new Error(`no sealed payload of format ${FORMAT}`);
      const key = this.#keyOf(keyId, master, place.task);
      const nonce = sealed.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(associated(head, place.task, place.column, place.row));
      decipher.setAuthTag(sealed.subarray(cut));
      const text = decipher.update(sealed.subarray(NONCE_BYTES, cut), undefined, 'utf8');
      return text + decipher.final('utf8');
    } catch (error) {
      throw new StoreFailedError(
        `the store is damaged: ${whatOf(place)} does not open with key "${keyId}", so it was changed or moved from elsewhere`,
        { cause: error },
      );
    }
  }

  /** The same payload for another place, sealed with the key in use if there is one. */
  moved(from: Place, payload: Kept, to: Place): Kept {
    return this.seal(to, this.open(from, payload));
  }

  /**
   * What stands for a text that is looked up and never read: the same for the same text, and telling nothing of it, as a
   * plain hash of a guessable text would. Where nothing is sealed it is the text.
   */
  digest(purpose: string, ...parts: readonly string[]): Kept {
    if (this.isLocked) throw new StoreSealedError(`the ${purpose} cannot be looked up: ${NO_KEYS}`);
    if (this.#sealing === undefined) return plain(parts.at(-1) as string);
    const mac = createHmac('sha256', this.#sealing.digesting).update(JSON.stringify([purpose, ...parts]));
    return mac.digest().subarray(0, DIGEST_BYTES) as unknown as Kept;
  }

  /**
   * A key of the task's own (HKDF, RFC 5869, section 2.3; the keys given are random, which makes its first step needless).
   * Random nonces may collide after 2^32 uses of one key: no task seals as much, however much all of them do together.
   */
  #keyOf(keyId: string, master: KeyObject, task: string): Buffer {
    const name = `${keyId} ${task}`;
    let key = this.#taskKeys.get(name);
    if (key === undefined) {
      key = createHmac('sha256', master).update(`longcall payloads of ${task}\u0001`).digest();
      this.#taskKeys.set(name, key);
    }
    return key;
  }
}

const GIVE_KEYS = 'give it to sqliteStore as `encryption`, or to the command line as `--key-file`';
const NO_KEYS = `the store is encrypted and this process has no keys: give them to sqliteStore as \`encryption\`, or to the command line as \`--key-file\``;

/** Whether it is what {@link Vault.open} throws: the key is not here, or what it is to open is not what was sealed. */
export function doesNotOpen(error: unknown): error is StoreSealedError | StoreFailedError {
  return error instanceof StoreSealedError || error instanceof StoreFailedError;
}

/** Text of ours, or from before payloads were sealed, as a column holds it. */
export function plain(text: string): Kept {
  return text as unknown as Kept;
}

export function isSealed(payload: Kept): boolean {
  return typeof payload !== 'string';
}

/** The id of the key it is sealed with; undefined for text as it is. */
export function keyIdOf(payload: Kept): string | undefined {
  const bytes = sealedBytes(payload);
  return bytes?.toString('latin1', 2, 2 + (bytes[1] ?? 0));
}

/** What everything that a key sealed begins with. */
export function headOf(keyId: string): Buffer {
  return Buffer.concat([Buffer.from([FORMAT, keyId.length]), Buffer.from(keyId, 'latin1')]);
}

/** A digest, or the text it would stand for, as a name that can be compared. */
export function nameOf(payload: Kept): string {
  return sealedBytes(payload)?.toString('hex') ?? (payload as unknown as string);
}

function sealedBytes(payload: Kept): Buffer | undefined {
  return Buffer.isBuffer(payload) ? payload : undefined;
}

/** The row comes last, since it alone may hold anything. */
function associated(head: Uint8Array, task: string, column: string, row: string | number = ''): Buffer {
  return Buffer.concat([head, Buffer.from(`\0${task}\0${column}\0${row}`, 'utf8')]);
}

function whatOf({ task, column }: Place): string {
  return task === '' ? column : `${column} of task ${shortId(task)}`;
}
