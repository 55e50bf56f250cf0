import { type Answer, isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import { CliError, EXIT } from '../errors.ts';
import type { Output } from '../output.ts';
import { type AskSchemaOptions, askSchema } from './ask-schema.ts';
import { askRunner, runnerAddress } from './job-runner.ts';

export interface AskOptions extends AskSchemaOptions {
  message: string;
  timeout?: number;
  value?: string;
  json?: boolean;
}

/** `longcall ask`, inside a job: asks whoever the task is for, and prints the answer. @returns the exit code */
export async function ask(options: AskOptions, env: NodeJS.ProcessEnv, output: Output): Promise<number> {
  const schema = askSchema(options);
  const fields = schema !== undefined && isJsonObject(schema.properties) ? Object.keys(schema.properties) : [];
  const { message, timeout, value = fields.length === 1 ? fields[0] : undefined } = options;
  if (message.trim() === '') throw new CliError('--message: expected what is to be asked');
  if (options.value !== undefined && !fields.includes(options.value)) {
    throw new CliError(`--value ${options.value}: the question has ${fields.join(', ') || 'no fields'}`);
  }
  const answer = await askRunner(runnerAddress(env), {
    message,
    ...(schema !== undefined && { schema }),
    ...(timeout !== undefined && { timeoutMs: timeout }),
  });
  if (options.json) await output.write(`${JSON.stringify(answer)}\n`);
  else if (answer.action === 'accept' && schema !== undefined) await output.write(printed(answer.content, value));
  return exitCodeOf(answer, output);
}

/** As it is, without what a terminal must not see taken out: a script reads it. */
function printed(content: JsonObject, name: string | undefined): string {
  if (name === undefined) return `${JSON.stringify(content)}\n`;
  const value: JsonValue | undefined = Object.hasOwn(content, name) ? content[name] : undefined;
  if (value === undefined) return ''; // It was left out.
  return `${typeof value === 'string' ? value : JSON.stringify(value)}\n`;
}

function exitCodeOf({ action }: Answer, output: Output): number {
  if (action === 'accept') return EXIT.ok;
  if (action === 'expired') {
    output.warn('longcall: nobody answered in time\n');
    return EXIT.waitEnded;
  }
  output.warn(`longcall: the question was ${action === 'decline' ? 'declined' : 'dismissed'}\n`);
  return EXIT.cancelled;
}
