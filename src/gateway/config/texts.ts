import type { JsonObject } from '../../core/index.ts';
import { isSecretName, type References } from './references.ts';
import { inside, type Sheet } from './sheet.ts';

export type Scalar = string | number | boolean;

/** What a command gets out of the gateway's environment unless the file says it: nothing that could be a secret. As the SDK's. */
const INHERITED =
  process.platform === 'win32'
    ? [
        ...['APPDATA', 'COMSPEC', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA', 'PATH', 'PATHEXT', 'PROCESSOR_ARCHITECTURE'],
        ...['PROGRAMDATA', 'PROGRAMFILES', 'PROGRAMFILES(X86)', 'PROGRAMW6432', 'SYSTEMDRIVE', 'SYSTEMROOT', 'TEMP'],
        ...['USERNAME', 'USERPROFILE', 'WINDIR'],
      ]
    : ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];

/** The texts of a file as commands and requests are to get them, with what they refer to put in. */
export class Texts {
  readonly references: References;
  readonly sheet: Sheet;
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(sheet: Sheet, references: References, env: Readonly<Record<string, string | undefined>>) {
    this.sheet = sheet;
    this.references = references;
    this.#env = env;
  }

  /** One; `undefined` after a problem. */
  one(pointer: string, value: Scalar, { secret = false } = {}): string | undefined {
    return this.references.expand(pointer, this.#written(pointer, value), { secret });
  }

  list(pointer: string, written: readonly (Scalar | undefined)[]): string[] {
    return written.flatMap((item, at) => {
      const text = item === undefined ? undefined : this.one(inside(pointer, at), item);
      return text === undefined ? [] : [text];
    });
  }

  /** By name; where the name says that it is a secret, only references. */
  named(pointer: string, written: JsonObject | Record<string, Scalar>): Record<string, string> {
    const entries = Object.keys(written).flatMap((name): [string, string][] => {
      const text = this.one(inside(pointer, name), written[name] as Scalar, { secret: isSecretName(name) });
      return text === undefined ? [] : [[name, text]];
    });
    return Object.fromEntries(entries); // Which makes members of its own, whatever they are called.
  }

  /** What a command gets of the gateway's own environment. */
  inherited(names: readonly (string | undefined)[] = INHERITED): Record<string, string> {
    const found: Record<string, string> = {};
    for (const name of names) {
      const value = name === undefined || !Object.hasOwn(this.#env, name) ? undefined : this.#env[name];
      // Functions of old shells, which nobody means to pass on.
      if (name === undefined || value === undefined || value.startsWith('()')) continue;
      if (isSecretName(name)) this.references.note(value);
      Object.defineProperty(found, name, { value, enumerable: true, writable: true, configurable: true });
    }
    return found;
  }

  /**
   * A program that stands alone, where several words would not be taken apart; `undefined` after a problem.
   * @param instead how else several words can be written
   */
  program(pointer: string, written: string, instead = ''): string | undefined {
    if (/^[^\s/\\]+\s/.test(written.trim())) {
      this.sheet.report(
        pointer,
        `expected one program, got several words: write a list, as [npx, -y, some-server]${instead}`,
      );
      return undefined;
    }
    const program = this.references.expand(pointer, written);
    return program === undefined ? undefined : this.located(program);
  }

  /** A program in a folder is found from the file; one without is looked for in PATH. */
  located(program: string): string {
    return /^\.\.?[/\\]/.test(program) ? this.references.resolve(program) : program;
  }

  /** A number as it is written: an environment and a command know only texts. */
  #written(pointer: string, value: Scalar): string {
    return typeof value === 'string' ? value : (this.sheet.text(pointer) ?? String(value));
  }
}
