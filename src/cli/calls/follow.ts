import type { Call } from '../../client/index.ts';
import { EXIT } from '../errors.ts';
import type { Output } from '../output.ts';
import { exitCodeOf, resultText, shortCallId, troubleOf } from './describe.ts';
import { askPerson } from './forms.ts';
import type { OpenQuestion, QuestionDesk } from './question-desk.ts';
import { commandEnd, ranCommand } from './ran.ts';
import { Screen } from './screen.ts';
import type { Session } from './session.ts';

export interface FollowOptions {
  json: boolean;
  /** Stop waiting after this many milliseconds. */
  timeoutMs?: number;
  /** Leave as soon as the call goes on without us. */
  detach?: boolean;
  /** Whether somebody at a terminal can be asked. */
  interactive: boolean;
  origin: string;
}

/** After the first Ctrl-C there is this much time for the second. */
const SECOND_THOUGHTS_MS = 1_500;

/** Waits for a call, tells what becomes of it, and prints its result. The result is the exit code. */
export async function followCall(
  call: Call,
  session: Session,
  desk: QuestionDesk,
  options: FollowOptions,
  output: Output,
): Promise<number> {
  const ran = ranCommand(call.state);
  const screen = new Screen(call, output, options.json);
  const leaving = new Leaving(call, screen);
  if (options.timeoutMs !== undefined) leaving.in(options.timeoutMs, 'timeout');
  if (options.detach) leaving.leave('detached');
  let asking = Promise.resolve();
  desk.serve(call.id, (open) => {
    asking = asking
      .then(() =>
        options.interactive
          ? ask(open, screen, leaving, options.origin)
          : screen.question(open.question, options.origin),
      )
      .catch((error: unknown) => screen.say(`longcall: the question could not be shown: ${(error as Error).message}`));
  });
  try {
    for await (const { log = [], ...state } of call.updates({ log: ran !== undefined && options.detach !== true })) {
      await screen.wrote(log);
      if (options.detach !== true || options.json) await screen.show(state);
      leaving.look();
      if (ran !== undefined && output.isGone) leaving.leave('interrupted');
    }
    return await told(call, session, screen, options.json, output, { shown: isShown(call, screen) });
  } catch (error) {
    if (leaving.why === undefined) throw error;
    await screen.event('left', { why: leaving.why });
    if (leaving.why === 'detached' && !options.json) await output.write(`${call.id}\n`);
    return leaving.why === 'detached' ? EXIT.ok : EXIT.waitEnded;
  } finally {
    leaving.done();
  }
}

/** Whether all that a command wrote was shown while it ran: what its server cannot tell any more is in the result. */
function isShown(call: Call, screen: Screen): boolean {
  const { end } = call.state;
  const command = end === undefined || ranCommand(call.state) === undefined ? undefined : commandEnd(end);
  return command !== undefined && (screen.hasOutput || !command.wrote);
}

/** Prints how a call ended. @param shown its result has nothing in it that was not printed */
export async function told(
  call: Call,
  session: Session,
  screen: Pick<Screen, 'event'>,
  json: boolean,
  output: Output,
  { shown = false }: { shown?: boolean } = {},
): Promise<number> {
  const { end } = call.state;
  if (end === undefined) return EXIT.waitEnded;
  const ran = ranCommand(call.state) !== undefined;
  await screen.event('ended');
  if (!json) {
    const trouble = troubleOf(end) ?? (ran && shown ? commandEnd(end)?.remark : undefined);
    if (trouble !== undefined) output.warn(`longcall: ${trouble}\n`);
    const text = end.kind === 'completed' && !shown ? resultText(end.result) : '';
    if (text !== '') await output.write(`${text}\n`);
  }
  if (!output.isGone) await session.shown(call);
  return exitCodeOf(end, { ran });
}

async function ask(open: OpenQuestion, screen: Screen, leaving: Leaving, origin: string): Promise<void> {
  if (open.signal.aborted) return;
  screen.pause(true);
  try {
    const answer = await askPerson(open.question, origin, open.signal);
    if (answer !== undefined) open.answer(answer);
    else if (!open.signal.aborted) leaving.interrupt();
  } finally {
    screen.pause(false);
  }
}

type Why = 'timeout' | 'interrupted' | 'detached';

/** When the wait is over though the call is not. A call that its server has not taken over yet would be lost: that is waited for. */
class Leaving {
  readonly #call: Call;
  readonly #screen: Screen;
  readonly #onInterrupt = (): void => this.interrupt();
  readonly #onTerminate = (): void => this.#detach('interrupted');
  #timers: NodeJS.Timeout[] = [];
  #wanted: Why | undefined;
  #interrupts = 0;
  why: Why | undefined;

  constructor(call: Call, screen: Screen) {
    this.#call = call;
    this.#screen = screen;
    process.on('SIGINT', this.#onInterrupt).on('SIGTERM', this.#onTerminate).on('SIGHUP', this.#onTerminate);
  }

  done(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    process.off('SIGINT', this.#onInterrupt).off('SIGTERM', this.#onTerminate).off('SIGHUP', this.#onTerminate);
  }

  in(ms: number, why: Why): void {
    this.#timers.push(setTimeout(() => this.leave(why), ms));
  }

  /** Now, or as soon as the call goes on without us. */
  leave(why: Why): void {
    this.#wanted ??= why;
    this.look();
  }

  look(): void {
    const { phase } = this.#call.state;
    if (this.#wanted !== undefined && phase === 'following') this.#detach(this.#wanted);
    // Nothing was sent, and the next command that connects sends it.
    if (this.#wanted === 'timeout' && phase === 'intended') this.#detach(this.#wanted);
  }

  /** Ctrl-C: the first leaves, the second cancels, the third ends the wait whatever happens. */
  interrupt(): void {
    this.#interrupts += 1;
    const id = shortCallId(this.#call.id);
    if (this.#interrupts === 1) {
      if (this.#call.state.phase === 'following') {
        const what = ranCommand(this.#call.state) === undefined ? 'call' : 'command';
        this.#screen.say(`the ${what} goes on: longcall wait ${id}   (Ctrl-C again cancels it)`);
      } else {
        this.#screen.say('the server has not made a task of it yet; leaving when it has   (Ctrl-C again cancels it)');
      }
      this.in(SECOND_THOUGHTS_MS, 'interrupted');
    } else if (this.#interrupts === 2) {
      this.done();
      process.on('SIGINT', this.#onInterrupt).on('SIGTERM', this.#onTerminate);
      this.#wanted = undefined;
      this.#screen.say('cancelling');
      this.#call.cancel().catch((error: unknown) => this.#screen.say(`longcall: ${(error as Error).message}`));
    } else this.#detach('interrupted');
  }

  #detach(why: Why): void {
    if (this.why !== undefined) return;
    this.why = why;
    if (why === 'timeout') {
      this.#screen.say(`still going on: longcall wait ${shortCallId(this.#call.id)}`);
    }
    this.#call.detach();
  }
}
