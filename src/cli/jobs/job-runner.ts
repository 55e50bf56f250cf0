import { Agent, type IncomingMessage, request } from 'node:http';
import { type Answer, isJsonObject, type JsonObject } from '../../core/index.ts';
import { CliError, EXIT } from '../errors.ts';

/** Where the runner of a job takes questions. */
export interface RunnerAddress {
  url: URL;
  token: string;
}

/** A question as a job asks it. */
export interface JobQuestion {
  message: string;
  schema?: JsonObject;
  timeoutMs?: number;
}

/** Of an answer; a form that a person fills in is far smaller. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const ACTIONS = ['accept', 'decline', 'cancel', 'expired'] as const;

/**
 * Out of the environment that a job's runner gives to its command.
 * @throws {CliError} naming the variable that is missing, or that makes no sense
 */
export function runnerAddress(env: NodeJS.ProcessEnv): RunnerAddress {
  const [address, token] = [variable(env, 'LONGCALL_ASK_URL'), variable(env, 'LONGCALL_ASK_TOKEN')];
  const url = URL.canParse(address) ? new URL(address) : undefined;
  // Literal addresses only: what a name stands for is for somebody else to say, and the token would go there.
  if (url?.protocol !== 'http:' || !/^(127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)) {
    throw new CliError('LONGCALL_ASK_URL: expected an http: address of this machine, as http://127.0.0.1:PORT/ask');
  }
  return { url, token };
}

function variable(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name];
  if (value !== undefined && value !== '') return value;
  throw new CliError(`ask is for commands that run as a task: the environment has no ${name}`);
}

/**
 * Asks, and waits for as long as it takes: it is the runner that says when the time is over. Ending before withdraws the
 * question.
 * @throws {CliError} when the runner refuses the question, or cannot be asked
 */
export async function askRunner({ url, token }: RunnerAddress, question: JobQuestion): Promise<Answer> {
  const body = Buffer.from(JSON.stringify(question));
  // An agent of its own: Node's own may be told by the environment to go through a proxy.
  const agent = new Agent();
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': body.length,
      };
      request(url, { method: 'POST', agent, headers }, resolve).once('error', reject).end(body);
    }).catch((error: Error) => {
      throw new CliError(`the runner of this job cannot be reached: ${error.message}`, EXIT.fault);
    });
    const said = objectIn(await textOf(response));
    if (response.statusCode === 200) return answerOf(said);
    throw refusal(response.statusCode ?? 0, said);
  } finally {
    agent.destroy();
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) throw new Error(`it says more than ${MAX_ANSWER_BYTES} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw new CliError(`the runner of this job hung up: ${(error as Error).message}`, EXIT.fault);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function objectIn(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text); // Line feeds before it are no part of it: they keep the connection awake.
  } catch {
    value = undefined;
  }
  return isJsonObject(value) ? value : {};
}

function answerOf({ action, content }: JsonObject): Answer {
  const known = ACTIONS.find((one) => one === action);
  if (known === 'accept') return { action: known, content: isJsonObject(content) ? content : {} };
  if (known !== undefined) return { action: known };
  throw new CliError('the runner of this job gave no answer', EXIT.fault);
}

function refusal(status: number, { error }: JsonObject): CliError {
  const why = typeof error === 'string' ? error : `HTTP ${status}`;
  // What the question itself is refused for is the script's to mend.
  return new CliError(`the question is refused: ${why}`, status === 400 || status === 413 ? EXIT.usage : EXIT.fault);
}
