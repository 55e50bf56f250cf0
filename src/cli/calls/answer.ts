import type { Call } from '../../client/index.ts';
import type { Answer, Question } from '../../core/index.ts';
import { CliError, EXIT } from '../errors.ts';
import type { Output } from '../output.ts';
import { readValues } from './arguments.ts';
import { questionLines, shortCallId } from './describe.ts';
import { askPerson } from './forms.ts';
import { QuestionDesk } from './question-desk.ts';
import type { Connected, ReachOptions, Session } from './session.ts';
import { readStdin } from './stdin.ts';

export interface AnswerOptions extends ReachOptions {
  args?: string;
  question?: string;
  accept?: boolean;
  decline?: boolean;
  cancel?: boolean;
  timeout?: number;
}

/** A question, and how its answer gets to the server. Undefined key: of a session, where questions have none. */
interface Asked {
  key?: string;
  question: Question;
  give: (answer: Answer) => Promise<void>;
}

/** A server that is asked has this long to show its question. */
const PATIENCE_MS = 15_000;

export async function answerCall(
  given: string,
  words: string[],
  options: AnswerOptions,
  session: Session,
  interactive: boolean,
  output: Output,
): Promise<number> {
  const call = await session.find(given);
  const nothing = (): CliError => new CliError(`${shortCallId(call.id)} asks nothing now`, EXIT.notFound);
  if (call.state.end !== undefined) throw nothing();
  const desk = new QuestionDesk();
  const connected = await session.connect(call.server, options, desk.onQuestion);
  const asked = await within(
    options.timeout ?? PATIENCE_MS,
    questionOf(call, connected, session, desk, options.question),
  );
  if (asked === undefined) throw nothing();
  const answer = await answerTo(asked.question, words, options, interactive, connected.server.origin);
  if (answer === undefined) return EXIT.waitEnded; // Left open at the terminal.
  await asked.give(answer);
  const state = await call.refresh();
  if (options.json) await output.json({ answered: asked.key ?? null, action: answer.action, call: state });
  else
    await output.write(
      `${answer.action === 'accept' ? 'answered' : answer.action === 'decline' ? 'declined' : 'cancelled the question of'} ${shortCallId(call.id)}\n`,
    );
  return EXIT.ok;
}

async function answerTo(
  question: Question,
  words: string[],
  { args, accept, decline, cancel }: AnswerOptions,
  interactive: boolean,
  origin: string,
): Promise<Answer | undefined> {
  const valued = words.length > 0 || args !== undefined;
  const ways = [valued || accept === true, decline === true, cancel === true].filter((way) => way).length;
  if (ways > 1) throw new CliError('give values, --accept, --decline or --cancel: one of them');
  if (decline) return { action: 'decline' };
  if (cancel) return { action: 'cancel' };
  if (valued || accept) {
    const schema = question.kind === 'form' ? question.schema : {};
    return { action: 'accept', content: await readValues({ words, json: args, readStdin }, schema, 'field') };
  }
  if (interactive) return askPerson(question, origin, new AbortController().signal);
  throw new CliError(
    `${questionLines(question, origin).join('\n')}\ngive key=value, --args JSON, --decline or --cancel`,
  );
}

/** The question that is to be answered: out of the task, or, in a session, as its server asks it. */
async function questionOf(
  call: Call,
  { remote }: Connected,
  session: Session,
  desk: QuestionDesk,
  wanted: string | undefined,
): Promise<Asked> {
  if (remote.revision !== '2026-07-28') {
    return new Promise((resolve) =>
      desk.serve(call.id, ({ question, answer }) => {
        const give = async (said: Answer): Promise<void> => {
          answer(said);
          await taken(call);
        };
        resolve({ question, give });
      }),
    );
  }
  for await (const state of call.updates()) {
    if (state.end !== undefined) break;
    if (state.phase !== 'following') continue;
    const record = await session.record(call);
    if (record?.state.phase !== 'following') continue;
    const { taskId } = record.state.task;
    // Asked for directly: another process may follow the call, and only it knows what it was told.
    const { questions } = await remote.get(taskId);
    const keys = [...questions.keys()];
    const [key = wanted] = wanted === undefined ? keys : keys.filter((one) => one === wanted);
    const question = key === undefined ? undefined : questions.get(key);
    if (wanted !== undefined && keys.length > 0 && question === undefined) {
      throw new CliError(`--question ${wanted}: it asks ${keys.join(', ')}`, EXIT.notFound);
    }
    if (wanted === undefined && keys.length > 1)
      throw new CliError(`it asks several things; choose with --question: ${keys.join(', ')}`);
    if (key === undefined || question === undefined) continue;
    const give = async (said: Answer): Promise<void> => {
      await remote.answer(taskId, new Map([[key, said]]));
      await call.answer(key, said); // Taken: whoever follows the call asks nobody any more.
    };
    return { key, question, give };
  }
  throw new CliError('the call ended meanwhile', EXIT.notFound);
}

/** Until the server has gone on, or long enough for the answer to have left. */
async function taken(call: Call): Promise<void> {
  const gone = (async () => {
    for await (const { status, end } of call.updates()) if (end !== undefined || status !== 'input_required') return;
  })();
  await within(5_000, gone);
}

async function within<Value>(ms: number, promise: Promise<Value>): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  promise.catch(() => {}); // Told to whoever still waits.
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
