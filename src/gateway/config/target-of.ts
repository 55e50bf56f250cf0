import { isSecretName, type References } from './references.ts';
import { inside, type Sheet } from './sheet.ts';
import type { Scalar, Texts } from './texts.ts';
import type { UpstreamTarget } from './types.ts';

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

/** Parameters of an address that are written in the file. */
const QUERY = /[?&]([^=&#]+)=[^&#$]/g;

/** An upstream's target; `undefined` after a problem. */
export class Targets {
  readonly #texts: Texts;
  readonly #sheet: Sheet;
  readonly #references: References;

  constructor(texts: Texts) {
    this.#texts = texts;
    this.#sheet = texts.sheet;
    this.#references = texts.references;
  }

  of(pointer: string, written: WrittenTarget): UpstreamTarget | undefined {
    // Both, where the file has both: one run tells everything.
    const process = this.#process(pointer, written);
    const remote = this.#remote(pointer, written);
    return process ?? remote;
  }

  #process(pointer: string, written: WrittenTarget): UpstreamTarget | undefined {
    const texts = this.#texts;
    const env = { ...texts.inherited(written.inheritEnv), ...texts.named(inside(pointer, 'env'), written.env ?? {}) };
    const args = texts.list(inside(pointer, 'args'), written.args ?? []);
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
      const [program, ...rest] = this.#texts.list(pointer, command);
      return program === undefined ? [] : [this.#texts.located(program), ...rest];
    }
    const program = this.#texts.program(pointer, command, ', or put the others under args');
    return program === undefined ? [] : [program];
  }

  #remote(pointer: string, written: WrittenTarget): UpstreamTarget | undefined {
    const at = inside(pointer, 'headers');
    const headers = this.#headers(at, this.#texts.named(at, written.headers ?? {}));
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
}
