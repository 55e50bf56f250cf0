import { daemonFolder, privateFolder } from '../../gateway/daemon/private-folder.ts';
import { RUN } from '../../gateway/runs/run-tool.ts';
import { isInteractive } from '../calls/call.ts';
import { shortCallId } from '../calls/describe.ts';
import { followCall } from '../calls/follow.ts';
import { QuestionDesk } from '../calls/question-desk.ts';
import { Screen } from '../calls/screen.ts';
import { NOTE, type Session } from '../calls/session.ts';
import { cut, oneLine } from '../format.ts';
import type { Output } from '../output.ts';
import { daemonServerName } from './daemon-server.ts';
import { commandLine, type RunCommand, type RunCommandOptions } from './run-command.ts';

export interface RunOptions extends RunCommandOptions {
  journal?: string;
  json?: boolean;
  state?: string;
  /** How long the command may take. */
  timeout?: number;
  name?: string;
  keep?: number;
  waitTimeout?: number;
  detach?: boolean;
  input?: boolean;
  stdin?: boolean;
  quiet?: boolean;
}

/** Of what is kept with a call to be shown in lists. */
const LONGEST_NAME = 200;

/** `longcall run -- command`: starts it as a task of this user's daemon, and follows it. @returns the exit code */
export async function run(
  { handed, words }: RunCommand,
  options: RunOptions,
  session: Session,
  output: Output,
): Promise<number> {
  const folder = privateFolder(daemonFolder(options.state, process.env));
  const name = daemonServerName(folder, process.env);
  const desk = new QuestionDesk();
  const daemon = { daemon: folder, commands: [handed] };
  const { server } = await session.connect(name, { daemon }, desk.onQuestion);
  const ran = cut(options.name ?? commandLine(words), LONGEST_NAME);
  const { name: title, timeout, keep } = options;
  const call = await server.callTool(
    {
      name: RUN,
      arguments: {
        id: handed.id,
        command: words,
        cwd: handed.cwd,
        ...(title !== undefined && { name: title }),
        ...(timeout !== undefined && { timeoutMs: timeout }),
      },
    },
    { note: { ...NOTE, ran }, ...(keep !== undefined && { ttlMs: keep }) },
  );
  const { json = false, detach = false, quiet = false } = options;
  const screen = new Screen(call, output, json);
  await screen.event('called');
  if (!detach && !quiet) screen.say(`${shortCallId(call.id)}  ${oneLine(ran)}`);
  return followCall(
    call,
    session,
    desk,
    {
      json,
      detach,
      interactive: !detach && isInteractive(options),
      origin: server.origin,
      ...(options.waitTimeout !== undefined && { timeoutMs: options.waitTimeout }),
    },
    output,
  );
}
