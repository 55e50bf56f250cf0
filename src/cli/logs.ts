import { indented } from '../core/index.ts';
import type { Inspector } from '../engine/inspector.ts';
import type { LogLine } from '../store/index.ts';
import { iso, safe, safeJson } from './format.ts';
import { resolveId, withStore } from './open.ts';
import type { CommonOptions } from './options.ts';
import type { Output } from './output.ts';

interface LogOptions extends CommonOptions {
  follow?: boolean;
  tail?: number;
}

const PAGE_BYTES = 256 * 1024;

export function showLog(given: string, options: LogOptions, output: Output): Promise<void> {
  return withStore(options, output, async ({ inspector, news }) => {
    const taskId = await resolveId(inspector, given);
    const print = (lines: readonly LogLine[]): Promise<void> => {
      const write = options.json ? (line: LogLine) => safeJson(line) : (line: LogLine) => textOf(line, output);
      return output.write(lines.map((line) => `${write(line)}\n`).join(''));
    };
    let cursor = 0;
    if (options.tail !== undefined) {
      const last = await tail(inspector, taskId, options.tail);
      await print(last.lines);
      cursor = last.cursor;
    }
    for (let over = !options.follow; !output.isGone; ) {
      const page = await inspector.readLog(taskId, { cursor, limitBytes: PAGE_BYTES });
      await print(page.lines);
      cursor = page.cursor;
      if (!page.atEnd) continue;
      if (over) return;
      // What was logged before the end is written before the end: one more look when it is over.
      over = (await inspector.get(taskId)).runState === 'done';
      if (!over) await news();
    }
  });
}

/** The last `count` lines, found by looking further and further back. */
async function tail(
  inspector: Inspector,
  taskId: string,
  count: number,
): Promise<{ lines: LogLine[]; cursor: number }> {
  for (let back = PAGE_BYTES; ; back *= 4) {
    const lines: LogLine[] = [];
    let cursor = -back;
    let atEnd = false;
    while (!atEnd) {
      const page = await inspector.readLog(taskId, { cursor, limitBytes: PAGE_BYTES });
      lines.push(...page.lines);
      lines.splice(0, lines.length - count);
      ({ cursor, atEnd } = page);
    }
    if (lines.length >= count || back >= cursor) return { lines, cursor };
  }
}

function textOf({ level, text, at, dropped }: LogLine, { colors }: Output): string {
  const paint = { debug: colors.gray, info: String, warning: colors.yellow, error: colors.red }[level] ?? String;
  const what = indented(safe(text));
  return `${colors.gray(iso(at))} ${paint(level.padEnd(7))} ${dropped === undefined ? what : colors.yellow(what)}`;
}
