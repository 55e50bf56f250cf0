import { constants } from 'node:os';
import type { CallEnd, CallSnapshot } from '../../client/index.ts';
import { isJsonObject, type JsonObject } from '../../core/index.ts';
import { EXIT } from '../errors.ts';

/** What `longcall run` ran by this call, as people are shown it; undefined: it is the call of another tool. */
export function ranCommand({ note }: Pick<CallSnapshot, 'note'>): string | undefined {
  return typeof note?.ran === 'string' ? note.ran : undefined;
}

export interface CommandEnd {
  /** As shells say it. */
  exitCode: number;
  /** What the code alone does not say: it was stopped, or killed, or never began. */
  remark?: string;
  /** Whether it wrote anything. */
  wrote: boolean;
}

/** How a command ended; undefined: it did not, or nobody knows. */
export function commandEnd(end: CallEnd): CommandEnd | undefined {
  if (end.kind !== 'completed') return undefined;
  const { structuredContent: told } = end.result;
  if (!isJsonObject(told) || !('exitCode' in told)) return undefined;
  const { exitCode, signal, stoppedBy, stdoutBytes, stderrBytes } = told;
  const remark = typeof exitCode !== 'number' || stoppedBy !== undefined ? lastLine(end.result) : undefined;
  return {
    exitCode: codeOf(exitCode, signal, end.result.isError === true),
    ...(remark !== undefined && { remark }),
    wrote: stdoutBytes !== 0 || stderrBytes !== 0,
  };
}

function codeOf(exitCode: unknown, signal: unknown, failed: boolean): number {
  if (typeof exitCode === 'number') return exitCode === 0 && failed ? EXIT.fault : exitCode; // Stopped, it may say 0.
  const number = typeof signal === 'string' ? (constants.signals as Record<string, number>)[signal] : undefined;
  return number === undefined ? EXIT.fault : 128 + number;
}

/** The adapter's own words, which follow what the command wrote. */
function lastLine({ content }: JsonObject): string | undefined {
  const last = Array.isArray(content)
    ? content.filter(isJsonObject).findLast(({ type }) => type === 'text')
    : undefined;
  return typeof last?.text === 'string' ? last.text.split('\n')[0] : undefined;
}
