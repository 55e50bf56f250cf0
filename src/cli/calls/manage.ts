import { type Call, CallLogUnavailableError, RemoteError } from '../../client/index.ts';
import { CliError, EXIT } from '../errors.ts';
import { iso, oneLine, relative, safeJson, table } from '../format.ts';
import { type LinesOptions, linePrinter } from '../log-lines.ts';
import type { Output } from '../output.ts';
import { exitCodeOf, noteOf, questionLines, resultText, shortCallId, stateOf, troubleOf } from './describe.ts';
import { QuestionDesk } from './question-desk.ts';
import { ranCommand } from './ran.ts';
import type { ReachOptions, Session } from './session.ts';

export interface ListOptions {
  json?: boolean;
  open?: boolean;
  limit: number;
  before?: string;
}

export interface CallLogOptions extends ReachOptions, LinesOptions {
  follow?: boolean;
  /** The file of the tasks, for the id of one. */
  db?: string;
  keyFile?: string;
}

/** How long a cancel or an end that is due may take to come through. */
const PATIENCE_MS = 10_000;

export async function listCalls(options: ListOptions, { client }: Session, output: Output): Promise<number> {
  const { open = false, limit, before } = options;
  const from = before === undefined ? {} : { before: (await client.find(before)).id };
  const calls = await client.calls({ open, limit, ...from });
  if (options.json) {
    await output.json({ calls: calls.map(({ state }) => state) });
    return EXIT.ok;
  }
  const now = Date.now();
  const rows = calls.map(({ id, state }) => [
    output.isTerminal ? shortCallId(id) : id,
    stateOf(state),
    oneLine(state.server),
    oneLine(ranCommand(state) ?? state.tool),
    output.isTerminal ? relative(state.createdAt, now) : iso(state.createdAt),
    noteOf(state),
  ]);
  const [heading = '', ...lines] = table([['ID', 'STATE', 'SERVER', 'TOOL', 'CREATED', 'NOTE'], ...rows], output.width);
  await output.write(`${[output.colors.bold(heading), ...lines].join('\n')}\n`);
  return EXIT.ok;
}

/** Shows a call; of one that is open, its server is asked where it stands. */
export async function getCall(
  given: string,
  options: ReachOptions & { offline?: boolean },
  session: Session,
  output: Output,
): Promise<number> {
  const call = await session.find(given);
  const shown = options.offline === true ? call.state : await fresh(call, options, session, output);
  const { arguments: args = {} } = (await session.record(call)) ?? {};
  if (options.json) {
    await output.json({ ...shown, arguments: args });
    return EXIT.ok;
  }
  const { id, server, tool, createdAt, end, questions = {} } = shown;
  const rows = [
    ['state', stateOf(shown), noteOf(shown)],
    ['server', oneLine(server)],
    ['tool', oneLine(tool)],
    ['arguments', oneLine(safeJson(args))],
    ['created', iso(createdAt), relative(createdAt, Date.now())],
  ];
  const lines = [output.colors.bold(id), ...table(rows, output.width - 2).map((line) => `  ${line}`)];
  for (const [key, question] of Object.entries(questions)) {
    lines.push(...questionLines(question, oneLine(`${server} (${key})`)).map((line) => `  ${line}`));
  }
  if (end?.kind === 'completed') lines.push('', resultText(end.result));
  await output.write(`${lines.join('\n')}\n`);
  return EXIT.ok;
}

async function fresh(call: Call, options: ReachOptions, session: Session, output: Output): Promise<Call['state']> {
  if (call.state.end !== undefined) return call.state;
  try {
    const { remote } = await session.connect(call.server, options, new QuestionDesk().onQuestion);
    const record = await session.record(call);
    if (record?.state.phase === 'following') {
      const task = await remote.get(record.state.task.taskId);
      const { status, statusMessage, progress, questions } = task;
      // The end is written by whoever follows the call; it comes in a moment.
      if (status !== 'working' && status !== 'input_required') await ended(call);
      const state = await call.refresh();
      if (state.end !== undefined) return state;
      return {
        ...state,
        status,
        ...(statusMessage !== undefined && { statusMessage }),
        ...(progress !== undefined && { progress }),
        ...(questions.size > 0 && { questions: Object.fromEntries(questions) }),
      };
    }
  } catch (error) {
    output.warn(`longcall: this is from before, its server cannot be asked: ${unreachable(error)}\n`);
  }
  return call.refresh();
}

/** Prints the result of a call that is over. */
export async function showResult(
  given: string,
  options: ReachOptions,
  session: Session,
  output: Output,
): Promise<number> {
  const call = await session.find(given);
  await fresh(call, options, session, output);
  const { end } = call.state;
  if (end === undefined) {
    output.warn(`longcall: it is not over: longcall wait ${shortCallId(call.id)}\n`);
    return EXIT.waitEnded;
  }
  const trouble = troubleOf(end);
  if (options.json) await output.json(call.state);
  else if (end.kind === 'completed') await output.write(`${resultText(end.result)}\n`);
  else output.warn(`longcall: ${trouble}\n`);
  if (!output.isGone) await session.shown(call);
  return exitCodeOf(end, { ran: ranCommand(call.state) !== undefined });
}

export async function showCallLog(
  given: string,
  options: CallLogOptions,
  session: Session,
  output: Output,
): Promise<number> {
  const call = await session.find(given);
  await session.connect(call.server, options, new QuestionDesk().onQuestion);
  const { follow = false, tail, stream, since } = options;
  const wanted = { ...(tail && { tail }), ...(stream && { stream }), ...(since !== undefined && { since }) };
  const printed = linePrinter(options, output);
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.on('SIGINT', interrupt);
  try {
    for await (const line of call.log({ ...wanted, follow, signal: stop.signal })) {
      if (output.isGone) break;
      await output.write(printed(line));
    }
  } catch (error) {
    if (stop.signal.aborted) return EXIT.waitEnded;
    if (error instanceof CallLogUnavailableError) throw new CliError(error.message, EXIT.notFound);
    throw error;
  } finally {
    process.off('SIGINT', interrupt);
  }
  return EXIT.ok;
}

export async function cancelCalls(
  given: string[],
  options: ReachOptions,
  session: Session,
  output: Output,
): Promise<number> {
  const calls = await Promise.all(given.map((id) => session.find(id)));
  const open = calls.filter(({ state }) => state.end === undefined);
  for (const call of open) await call.cancel();
  await reach(open, options, session, (why) => output.warn(`longcall: ${why}\n`));
  await Promise.all(open.map(ended));
  const states = await Promise.all(calls.map((call) => call.refresh()));
  const asked = states.filter(({ end }) => end === undefined);
  if (options.json) await output.json({ calls: states });
  else await output.write(states.map((state) => `${cancelWord(state, open)} ${shortCallId(state.id)}\n`).join(''));
  return asked.length === 0 ? EXIT.ok : EXIT.infrastructure;
}

function cancelWord({ id, end }: Call['state'], open: readonly Call[]): string {
  if (end === undefined) return 'to be cancelled as soon as its server can be reached:';
  return end.kind === 'cancelled' && open.some((call) => call.id === id) ? 'cancelled' : 'already over';
}

export async function removeCalls(
  given: string[],
  options: ReachOptions & { offline?: boolean },
  session: Session,
  output: Output,
): Promise<number> {
  const calls = await Promise.all(given.map((id) => session.find(id)));
  const open = calls.filter(({ state }) => state.end === undefined).map(({ id }) => shortCallId(id));
  if (open.length > 0) throw new CliError(`not over, cancel first: ${open.join(', ')}`);
  await reach(options.offline === true ? [] : calls, options, session, (why) =>
    output.warn(`longcall: deleted here only, its server cannot be asked: ${why}\n`),
  );
  const removed: { id: string; alsoByServer: boolean }[] = [];
  for (const call of calls) removed.push({ id: call.id, alsoByServer: await call.delete() });
  if (options.json) await output.json({ removed });
  else await output.write(removed.map(({ id }) => `removed ${shortCallId(id)}\n`).join(''));
  return EXIT.ok;
}

/** Connects the servers of calls, each once. One that cannot be asked is told of, and keeps nobody from the others. */
async function reach(
  calls: readonly Call[],
  options: ReachOptions,
  session: Session,
  unreached: (why: string) => void,
): Promise<void> {
  for (const server of new Set(calls.map((call) => call.server))) {
    await session.connect(server, options, new QuestionDesk().onQuestion).catch((error: unknown) => {
      unreached(unreachable(error));
    });
  }
}

/** Why a server cannot be asked. @throws what says anything else */
function unreachable(error: unknown): string {
  if (error instanceof RemoteError || error instanceof CliError) return error.message;
  throw error;
}

async function ended(call: Call): Promise<void> {
  const late = setTimeout(() => call.detach(), PATIENCE_MS);
  await call.result().catch(() => {}); // How it ended is read from its state.
  clearTimeout(late);
}
