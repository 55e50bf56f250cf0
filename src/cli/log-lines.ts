import { type Command, Option } from 'commander';
import { indented, plainText } from '../core/index.ts';
import { isOn, type LogStream } from '../engine/log-tail.ts';
import { coloured } from './coloured.ts';
import { iso, oneLine, safe, safeJson } from './format.ts';
import type { Output } from './output.ts';
import { count, since } from './parse.ts';

/** Which lines of a log are printed, and how. */
export interface LinesOptions {
  stream?: LogStream;
  tail?: number;
  /** Milliseconds since the Unix epoch. */
  since?: number;
  raw?: boolean;
  json?: boolean;
}

/** A line of a log, from a file or over the wire. */
interface PrintedLine {
  at: number;
  level: string;
  text: string;
  stream?: LogStream;
  dropped?: number;
}

export function printingLines(command: Command): Command {
  return command
    .option('-n, --tail <n>', 'only the last lines', count(1_000_000))
    .addOption(new Option('--stream <stream>', 'only what a command wrote there').choices(['stdout', 'stderr']))
    .option('--since <age or date>', 'only lines since: 30m, 2h, 7d, 2026-01-31', since)
    .addOption(new Option('--raw', 'only the text, with its colours where colours are shown').conflicts('json'));
}

export function isWanted(line: PrintedLine, { stream, since: from }: LinesOptions): boolean {
  return isOn(line, stream) && (from === undefined || line.at >= from);
}

/** How lines are printed, each with the line feed that ends it. */
export function linePrinter({ json, raw }: LinesOptions, { colors }: Output): (line: PrintedLine) => string {
  if (json) return (line) => `${safeJson(line)}\n`;
  if (raw) {
    const written = colors.isColorSupported ? coloured : (text: string) => safe(plainText(text));
    return ({ text }) => `${written(text)}\n`;
  }
  return ({ level, text, at, stream, dropped }) => {
    const paint = { debug: colors.gray, warning: colors.yellow, error: colors.red }[level] ?? String;
    const what = indented(safe(plainText(text)));
    const from = paint(oneLine(stream ?? level).padEnd(7));
    return `${colors.gray(iso(at))} ${from} ${dropped === undefined ? what : colors.yellow(what)}\n`;
  };
}
