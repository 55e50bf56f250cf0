import { once } from 'node:events';
import picocolors from 'picocolors';
import { type Logger, plainText } from '../core/index.ts';
import { coloured } from './coloured.ts';
import { oneLine, safe, safeJson } from './format.ts';

type Stream = NodeJS.WriteStream;

/** Where the command line writes: coloured and cut to width for people, plain and whole for everything else. */
export class Output {
  readonly colors: ReturnType<typeof picocolors.createColors>;
  readonly #stdout: Stream;
  readonly #stderr: Stream;
  readonly #dumb: boolean;
  #gone = false;

  constructor(stdout: Stream, stderr: Stream, env: NodeJS.ProcessEnv) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#dumb = env.TERM === 'dumb';
    // Decided here: the library's own guess colours pipes in CI.
    const forced = Boolean(env.FORCE_COLOR) && env.FORCE_COLOR !== '0';
    this.colors = picocolors.createColors(!env.NO_COLOR && (forced || (this.isTerminal && env.TERM !== 'dumb')));
    stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      this.#gone = true; // `| head` has seen enough, which is no error.
    });
    stderr.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error; // The same with `2>&1 | head`.
    });
  }

  get isTerminal(): boolean {
    return this.#stdout.isTTY === true;
  }

  /** How wide a line may be; no limit where nobody looks at it. */
  get width(): number {
    return this.isTerminal ? this.#stdout.columns || 80 : Number.POSITIVE_INFINITY;
  }

  /** Nobody reads any more. */
  get isGone(): boolean {
    return this.#gone;
  }

  /** Resolves when there is room for more. */
  async write(text: string): Promise<void> {
    if (!this.#gone) await written(this.#stdout, text);
  }

  /** Lines that a command wrote, where it wrote them: as they are, or, where somebody looks, with no more than their colours. */
  async passOn(stream: 'stdout' | 'stderr', lines: readonly string[]): Promise<void> {
    const to = stream === 'stdout' ? this.#stdout : this.#stderr;
    if (to === this.#stdout && this.#gone) return;
    const look = this.colors.isColorSupported ? coloured : (line: string) => safe(plainText(line));
    const shown = to.isTTY === true ? lines.map(look) : lines;
    await written(to, shown.map((line) => `${line}\n`).join(''));
  }

  json(value: unknown): Promise<void> {
    return this.write(`${safeJson(value, this.isTerminal ? 2 : undefined)}\n`);
  }

  /** Somebody watches what is said beside the output, and it can be painted over. */
  get isLive(): boolean {
    return this.#stderr.isTTY === true && !this.#dumb;
  }

  get liveWidth(): number {
    return this.#stderr.columns || 80;
  }

  /** Writes over the line that was painted before; nothing: it is gone. */
  repaint(line: string): void {
    this.#stderr.write(`\r\u001b[2K${oneLine(line)}`);
  }

  /** For people, beside the output proper: an error may quote anything. */
  warn(text: string): void {
    this.#stderr.write(safe(text));
  }
}

async function written(stream: Stream, text: string): Promise<void> {
  if (stream.write(text)) return;
  await Promise.race([once(stream, 'drain'), once(stream, 'close')]).catch(() => {});
}

/** What the library warns of, for whoever reads the terminal: its words, and no fields. */
export function loggerTo(output: Output): Logger {
  const say = (_fields: object, message: string): void => output.warn(`longcall: ${message}\n`);
  return { debug: () => {}, info: () => {}, warn: say, error: say };
}
