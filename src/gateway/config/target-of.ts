import type { JsonObject } from '../../core/index.ts';
import { isSecretName, type References } from './references.ts';
import { inside, type Sheet } from './sheet.ts';
import type { UpstreamTarget } from './types.ts';

type Scalar = string | number | boolean;

/** Where an upstream is, as it stands in the file, checked: what is wrong is not in it. */
export interface WrittenTarget {
  command?: string | Scalar[];
  args?: Scalar[];
  cwd?: string;
  env?: Record<string, Scalar>;
  inheritEnv?: string[];
  url?: string;
  headers?: Record<string, Scalar>;
  forwardAuthorization?: boolean;
}

/** What a command gets out of the gateway's environment unless the file says it: nothing that could be a secret. As the SDK's. */
const INHERITED =
  process.platform === 'win32'
    ? [
        ...['APPDATA', 'COMSPEC', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA', 'PATH', 'PATHEXT', 'PROCESSOR_ARCHITECTURE'],
        ...['PROGRAMDATA', 'PROGRAMFILES', 'PROGRAMFILES(X86)', 'PROGRAMW6432', 'SYSTEMDRIVE', 'SYSTEMROOT', 'TEMP'],
        ...['USERNAME', 'USERPROFILE', 'WINDIR'],
      ]
    : ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];

/** Parameters of an address that are written in the file. */
const QUERY = /[?&]([^=&#]+)=[^&#$]/g;

/** An upstream's target; `undefined` after a problem. */
export class Targets {
  readonly #sheet: Sheet;
  readonly #references: References;
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(sheet: Sheet, references: References, env: Readonly<Record<string, string | undefined>>) {
    this.#sheet = sheet;
    this.#references = references;
    this.#env = env;
  }

  of(pointer: string, written: WrittenTarget): UpstreamTarget | undefined {
    // Both, where the file has both: one run tells everything.
    const process = this.#process(pointer, written);
    const remote = this.#remote(pointer, written);
    return process ?? remote;
  }

  #process(pointer: string, written: WrittenTarget): UpstreamTarget | undefined {
    const env = { ...this.#inherited(written.inheritEnv), ...this.#texts(inside(pointer, 'env'), written.env ?? {}) };
    const args = this.#list(inside(pointer, 'args'), written.args ?? []);
    const cwd = written.cwd === undefined ? undefined : this.#references.path(inside(pointer, 'cwd'), written.cwd);
    const [command, ...first] = this.#command(inside(pointer, 'command'), written);
    if (command === undefined) return undefined;
    return { command, args: [...first, ...args], ...(cwd !== undefined && { cwd }), env };
  }

  /** The program, and the arguments that stand with it. */
  #command(pointer: string, { command, args }: WrittenTarget): string[] {
    if (command === undefined) return [];
    if (Array.isArray(command)) {
      if (args !== undefined) this.#sheet.report(pointer, 'expected a program, since there are args, got a list');
      const [program, ...rest] = this.#list(pointer, command);
      return program === undefined ? [] : [this.#program(program), ...rest];
    }
    if (/^[^\s/\\]+\s/.test(command.trim())) {
      this.#sheet.report(
        pointer,
        'expected one program, got several words: write a list, as [npx, -y, some-server], or put the others under args',
      );
      return [];
    }
    const program = this.#references.expand(pointer, command);
    return program === undefined ? [] : [this.#program(program)];
  }

  /** A program in a folder is found from the file; one without is looked for in PATH. */
  #program(program: string): string {
    return /^\.\.?[/\\]/.test(program) ? this.#references.resolve(program) : program;
  }

  #remote(pointer: string, written: WrittenTarget): UpstreamTarget | undefined {
    const at = inside(pointer, 'headers');
    const headers = this.#headers(at, this.#texts(at, written.headers ?? {}));
    const forwardAuthorization = written.forwardAuthorization ?? false;
    const own = Object.keys(headers).find((name) => name.toLowerCase() === 'authorization');
    if (forwardAuthorization && own !== undefined) {
      this.#sheet.report(inside(at, own), "either this, or the caller's own by forwardAuthorization", 'key');
    }
    const url = written.url === undefined ? undefined : this.#address(inside(pointer, 'url'), written.url);
    return url === undefined ? undefined : { url, headers, forwardAuthorization };
  }

  #address(pointer: string, text: string): string | undefined {
    const expanded = this.#references.expand(pointer, text);
    if (expanded === undefined) return undefined;
    const url = URL.canParse(expanded) ? new URL(expanded) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol)) {
      this.#sheet.report(pointer, 'expected an http:// or https:// address, got something else (not shown)');
    } else if (url.username !== '' || url.password !== '') {
      this.#sheet.report(
        pointer,
        'expected an address without a name and password; send them as headers.Authorization',
      );
    } else if ([...text.matchAll(QUERY)].some(([, name = '']) => isSecretName(name))) {
      this.#sheet.report(pointer, 'expected a reference for the secret in the query, got a literal (not shown)');
    } else {
      for (const [name, value] of url.searchParams) if (isSecretName(name)) this.#references.note(value);
      return expanded;
    }
    return undefined;
  }

  #headers(pointer: string, headers: Record<string, string>): Record<string, string> {
    const seen = new Map<string, string>();
    for (const [name, value] of Object.entries(headers)) {
      const before = seen.get(name.toLowerCase());
      if (before !== undefined) this.#sheet.report(inside(pointer, name), `the same header as ${before}`, 'key');
      seen.set(name.toLowerCase(), name);
      if (/[\r\n]|[^\t -\u00ff]|\u007f/.test(value)) {
        this.#sheet.report(
          inside(pointer, name),
          'expected a text on one line of Latin letters, got another (not shown)',
        );
      }
    }
    return headers;
  }

  #inherited(names: readonly (string | undefined)[] = INHERITED): Record<string, string> {
    const found: Record<string, string> = {};
    for (const name of names) {
      const value = name === undefined || !Object.hasOwn(this.#env, name) ? undefined : this.#env[name];
      // Functions of old shells, which nobody means to pass on.
      if (name === undefined || value === undefined || value.startsWith('()')) continue;
      if (isSecretName(name)) this.#references.note(value);
      Object.defineProperty(found, name, { value, enumerable: true, writable: true, configurable: true });
    }
    return found;
  }

  /** By name; where the name says that it is a secret, only references. */
  #texts(pointer: string, written: JsonObject | Record<string, Scalar>): Record<string, string> {
    const entries = Object.keys(written).flatMap((name): [string, string][] => {
      const at = inside(pointer, name);
      const text = this.#references.expand(at, this.#written(at, written[name] as Scalar), {
        secret: isSecretName(name),
      });
      return text === undefined ? [] : [[name, text]];
    });
    return Object.fromEntries(entries); // Which makes members of its own, whatever they are called.
  }

  #list(pointer: string, written: readonly (Scalar | undefined)[]): string[] {
    return written.flatMap((item, at) => {
      const itemAt = inside(pointer, at);
      const text = item === undefined ? undefined : this.#references.expand(itemAt, this.#written(itemAt, item));
      return text === undefined ? [] : [text];
    });
  }

  /** A number as it is written: an environment and a command know only texts. */
  #written(pointer: string, value: Scalar): string {
    return typeof value === 'string' ? value : (this.#sheet.text(pointer) ?? String(value));
  }
}
