import { CliError, EXIT } from '../errors.ts';
import { oneLine } from '../format.ts';
import type { Output } from '../output.ts';
import { readValues } from './arguments.ts';
import { shortCallId } from './describe.ts';
import { followCall, told } from './follow.ts';
import { QuestionDesk } from './question-desk.ts';
import { Screen } from './screen.ts';
import { NOTE, type ReachOptions, type Session } from './session.ts';
import { readStdin } from './stdin.ts';

export interface WaitOptions extends ReachOptions {
  timeout?: number;
  input?: boolean;
}

export interface CallCommandOptions extends WaitOptions {
  args?: string;
  detach?: boolean;
  keep?: number;
}

/** Whether there is somebody to ask: at a terminal, who has not said otherwise. */
export function isInteractive({ json, input }: { json?: boolean; input?: boolean }): boolean {
  return json !== true && input !== false && process.stdin.isTTY === true && process.stderr.isTTY === true;
}

export async function makeCall(
  name: string,
  toolName: string,
  words: string[],
  options: CallCommandOptions,
  session: Session,
  output: Output,
): Promise<number> {
  const desk = new QuestionDesk();
  const { server } = await session.connect(name, options, desk.onQuestion);
  const tools = await server.listTools();
  const tool = tools.find((one) => one.name === toolName);
  if (tool === undefined) {
    const names = tools.map((one) => oneLine(one.name)).join(', ') || 'none';
    throw new CliError(`${name} has no tool "${toolName}"; it has ${names}`, EXIT.notFound);
  }
  const args = await readValues({ words, json: options.args, readStdin }, tool.inputSchema, 'argument');
  const { keep } = options;
  const call = await server.callTool(
    { name: toolName, arguments: args },
    { note: NOTE, ...(keep !== undefined && { ttlMs: keep }) },
  );
  const screen = new Screen(call, output, options.json === true);
  await screen.event('called');
  if (options.detach !== true) screen.say(`${shortCallId(call.id)}  ${oneLine(name)}: ${oneLine(toolName)}`);
  return followCall(call, session, desk, followOptions(options, server.origin), output);
}

export async function waitForCall(
  given: string,
  options: WaitOptions,
  session: Session,
  output: Output,
): Promise<number> {
  const call = await session.find(given);
  if (call.state.end !== undefined) {
    const screen = new Screen(call, output, options.json === true);
    return told(call, session, screen, options.json === true, output);
  }
  const desk = new QuestionDesk();
  const { server } = await session.connect(call.server, options, desk.onQuestion);
  return followCall(call, session, desk, followOptions(options, server.origin), output);
}

function followOptions(options: CallCommandOptions, origin: string) {
  return {
    json: options.json === true,
    ...(options.timeout !== undefined && { timeoutMs: options.timeout }),
    detach: options.detach === true,
    interactive: options.detach !== true && isInteractive(options),
    origin,
  };
}
