import type { Call, CallSnapshot } from '../../client/index.ts';
import type { Question } from '../../core/index.ts';
import type { TaskLogLine } from '../../wire/task-log.ts';
import { oneLine, safeJson } from '../format.ts';
import type { Output } from '../output.ts';
import { countOf, messageOf, questionLines, shortCallId, stateOf } from './describe.ts';
import { ProgressLine } from './progress-line.ts';
import { ranCommand } from './ran.ts';

/** Plain lines about progress come no more often than this. */
const PLAIN_PROGRESS_MS = 1_000;

/** Tells whoever waits what becomes of a call: a line that moves, plain lines, or JSON. */
export class Screen {
  readonly #call: Call;
  readonly #output: Output;
  readonly #json: boolean;
  readonly #line = new ProgressLine();
  #told = '';
  #saidAt = Number.NEGATIVE_INFINITY;
  #painted = false;
  #paused = false;
  /** What a command wrote was shown while it ran. */
  hasOutput = false;

  constructor(call: Call, output: Output, json: boolean) {
    this.#call = call;
    this.#output = output;
    this.#json = json;
  }

  async event(event: string, more: object = {}): Promise<void> {
    if (this.#json) await this.#output.write(`${safeJson({ event, call: this.#call.state, ...more })}\n`);
  }

  /** What a command wrote, and what was said of it. */
  async wrote(lines: readonly TaskLogLine[]): Promise<void> {
    if (this.#json) {
      for (const line of lines) await this.#output.write(`${safeJson({ event: 'output', ...line })}\n`);
      return;
    }
    let from = 0;
    while (from < lines.length) {
      const { stream } = lines[from] as TaskLogLine;
      const end = lines.findIndex((line, n) => n > from && line.stream !== stream);
      const same = lines.slice(from, end < 0 ? lines.length : end);
      from += same.length;
      if (stream === undefined) {
        for (const line of same) this.say(`longcall: ${line.text}`);
        continue;
      }
      this.hasOutput = true;
      this.#wipe();
      await this.#output.passOn(
        stream,
        same.map(({ text }) => text),
      );
    }
  }

  async show(state: CallSnapshot): Promise<void> {
    if (this.#json) return state.end === undefined ? this.event('update') : undefined;
    if (state.end !== undefined) return this.#wipe();
    if (ranCommand(state) !== undefined && this.#isDull(state)) return;
    const away = state.unreachableSince === undefined ? '' : 'the server cannot be reached; trying again';
    const now = performance.now();
    if (state.progress !== undefined) this.#line.take(state.progress, now);
    if (this.#output.isLive) return this.#paint(state, away);
    const { progress } = state;
    const word = [stateOf(state), away, messageOf(state)].filter((text) => text !== '').join('  ');
    const changed = word !== this.#told;
    if (!changed && (progress === undefined || now - this.#saidAt < PLAIN_PROGRESS_MS)) return;
    this.#told = word;
    this.#saidAt = now;
    const done = progress === undefined ? '' : `  ${countOf(progress)} ${oneLine(progress.message ?? '')}`;
    this.say(`${word}${done}`.trimEnd());
  }

  async question(question: Question, origin: string): Promise<void> {
    if (this.#json) return this.event('question', { question });
    const id = shortCallId(this.#call.id);
    for (const line of questionLines(question, origin)) this.say(line);
    this.say(`answer with: longcall answer ${id} ${question.kind === 'form' ? 'key=value' : '--accept'}`);
  }

  /** A command that shows what it does need not be told of, unless it is known how far it is. */
  #isDull({ progress, statusMessage, unreachableSince, status }: CallSnapshot): boolean {
    const news = progress !== undefined || statusMessage !== undefined || status === 'input_required';
    return unreachableSince === undefined && !(this.#output.isLive && news);
  }

  /** A line for people, beside the result. */
  say(line: string): void {
    if (this.#json) return;
    this.#wipe();
    this.#output.warn(`${line}\n`);
  }

  /** Somebody else draws meanwhile. */
  pause(paused: boolean): void {
    if (paused) this.#wipe();
    this.#paused = paused;
  }

  #paint(state: CallSnapshot, away: string): void {
    if (this.#paused) return;
    const width = this.#output.liveWidth - 1;
    const head = `${stateOf(state)}  `;
    const note = away || messageOf(state);
    const rest =
      state.progress === undefined || away !== '' ? note : this.#line.text(state.progress, width - head.length);
    this.#output.repaint(`${head}${rest}`.trimEnd().slice(0, width));
    this.#painted = true;
  }

  #wipe(): void {
    if (this.#painted) this.#output.repaint('');
    this.#painted = false;
  }
}
