import { isAbsolute, join } from 'node:path';
import { readPrivateFile } from '../../store/index.ts';
import type { Sheet } from './sheet.ts';

/** What texts of a file may refer to. */
export interface Surroundings {
  env: Readonly<Record<string, string | undefined>>;
  /** The folder of the file. */
  folder: string;
}

/** The longest that an environment variable or a header could take. */
const MAX_SECRET_BYTES = 128 * 1024;

const REFERENCE = /\$\{([^{}]*)\}/g;
const HOW = `write \${env:NAME} or \${file:PATH}`;

/** Names of variables and headers whose values are to be kept secret. */
const SECRET_NAME =
  /(token|secret|passw|passphrase|credential|cookie|authorization|bearer|api-?key|access-?key|(^|[-_])(key|auth|pat|pwd|pass|pin|dsn)s?([-_]|$))/i;
/** Files that hold secrets are none themselves, nor are numbers of tokens: KEY_FILE, SSH_AUTH_SOCK, MAX_TOKENS. */
const NO_SECRET_NAME =
  /(^(max|min|num|use|enable|disable|public|no|has|require)[-_]|[-_](file|path|dir|folder|sock|socket|url|uri|id|name|type|mode|ttl|timeout|limit|count|size)$|^google_application_credentials$)/i;
/** An address with a password in it. */
const PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:[^\s/@$][^\s/@]*@/i;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !NO_SECRET_NAME.test(name);
}

/** Puts in what texts refer to, and remembers what must not be told. */
export class References {
  readonly #sheet: Sheet;
  readonly #around: Surroundings;
  readonly #secrets = new Set<string>();
  /** Those of the part that is being read. */
  #noted: Set<string> | undefined;

  constructor(sheet: Sheet, around: Surroundings) {
    this.#sheet = sheet;
    this.#around = around;
  }

  /** Longest first, so that none is cut to pieces by one within it. */
  get secrets(): readonly string[] {
    return longestFirst(this.#secrets);
  }

  /** What is secret of all that `read` refers to, in the same order. */
  secretsIn<Value>(read: () => Value): { value: Value; secrets: readonly string[] } {
    const outer = this.#noted;
    const own = new Set<string>();
    this.#noted = own;
    try {
      return { value: read(), secrets: longestFirst(own) };
    } finally {
      this.#noted = outer;
    }
  }

  /** What comes from elsewhere and is secret by its name. */
  note(secret: string): void {
    if (secret === '') return;
    this.#secrets.add(secret);
    this.#noted?.add(secret);
  }

  /**
   * A text with its references replaced; `undefined` after a problem.
   * @param secret what it is made of is secret, and it must not be written in the file itself
   */
  expand(pointer: string, text: string, { secret = false } = {}): string | undefined {
    const references = [...text.matchAll(REFERENCE)];
    if ((secret && references.length === 0 && text !== '') || PASSWORD.test(text)) {
      this.#sheet.report(pointer, `expected a reference, since this is secret, got a literal (not shown): ${HOW}`);
      return undefined;
    }
    if (text.replace(REFERENCE, '').includes('${')) {
      this.#sheet.report(pointer, `a \${ that is never closed, or has another within: ${HOW}`);
      return undefined;
    }
    const values = references.map(([, inner = '']) => this.#valueOf(pointer, inner, secret));
    if (values.includes(undefined)) return undefined;
    const expanded = text.replace(REFERENCE, () => values.shift() ?? '');
    if (expanded.includes('\0')) {
      this.#sheet.report(pointer, 'expected a text, got one with a NUL character in it');
      return undefined;
    }
    return expanded;
  }

  /** A path, relative to the folder of the file. */
  path(pointer: string, text: string): string | undefined {
    const expanded = this.expand(pointer, text);
    return expanded === undefined ? undefined : this.resolve(expanded);
  }

  /** A path that has no references, relative to the folder of the file. */
  resolve(path: string): string {
    return isAbsolute(path) ? path : join(this.#around.folder, path);
  }

  #valueOf(pointer: string, inner: string, secret: boolean): string | undefined {
    const [, kind, name = ''] = /^(env|file):(.+)$/s.exec(inner) ?? [];
    if (kind === undefined) {
      this.#sheet.report(pointer, `expected \${env:NAME} or \${file:PATH}, got another \${…}`);
      return undefined;
    }
    const value = kind === 'env' ? this.#variable(pointer, name) : this.#file(pointer, name);
    if (value !== undefined && (secret || kind === 'file' || isSecretName(name))) this.note(value);
    return value;
  }

  #variable(pointer: string, name: string): string | undefined {
    if (!/^[A-Za-z_][A-Za-z0-9_()]*$/.test(name)) {
      this.#sheet.report(pointer, 'expected the name of an environment variable after ${env:, got something else');
      return undefined;
    }
    const { env } = this.#around;
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value !== undefined && value !== '') return value;
    this.#sheet.report(pointer, `the environment variable ${name} is ${value === '' ? 'empty' : 'not set'}`);
    return undefined;
  }

  #file(pointer: string, name: string): string | undefined {
    const path = this.resolve(name);
    let text: string;
    try {
      ({ text } = readPrivateFile(path, 'the file'));
    } catch (error) {
      this.#sheet.report(pointer, fileTrouble(path, error));
      return undefined;
    }
    const value = text.replace(/\r?\n$/, '');
    if (value !== '' && Buffer.byteLength(value) <= MAX_SECRET_BYTES) return value;
    this.#sheet.report(
      pointer,
      `the file ${path} is ${value === '' ? 'empty' : `longer than ${MAX_SECRET_BYTES} bytes`}`,
    );
    return undefined;
  }
}

function longestFirst(secrets: ReadonlySet<string>): readonly string[] {
  return [...secrets].sort((a, b) => b.length - a.length);
}

/** What is the matter with a file, in words. */
export function fileTrouble(path: string, error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return `there is no file ${path}`;
    case 'EACCES':
    case 'EPERM':
      return `the file ${path} may not be read by this user`;
    case 'EISDIR':
      return `${path} is a folder, not a file`;
    default:
      return (error as Error).message;
  }
}
