import { lastLines } from '../engine/log-tail.ts';
import type { LogLine } from '../store/index.ts';
import { isWanted, type LinesOptions, linePrinter } from './log-lines.ts';
import { resolveId, withStore } from './open.ts';
import type { CommonOptions } from './options.ts';
import type { Output } from './output.ts';

export interface LogOptions extends Pick<CommonOptions, 'db' | 'keyFile'>, LinesOptions {
  follow?: boolean;
}

const PAGE_BYTES = 256 * 1024;

export function showLog(given: string, options: LogOptions, output: Output): Promise<void> {
  return withStore(options, output, async ({ inspector, news }) => {
    const taskId = await resolveId(inspector, given);
    const read = (from: number) => inspector.readLog(taskId, { cursor: from, limitBytes: PAGE_BYTES });
    const printed = linePrinter(options, output);
    const print = (lines: readonly LogLine[]): Promise<void> => output.write(lines.map(printed).join(''));
    const wanted = (line: LogLine): boolean => isWanted(line, options);
    let cursor = 0;
    if (options.tail !== undefined) {
      const last = await lastLines(read, wanted, { count: options.tail, pageBytes: PAGE_BYTES });
      await print(last.lines);
      cursor = last.cursor;
    }
    for (let over = !options.follow; !output.isGone; ) {
      const page = await read(cursor);
      await print(page.lines.filter(wanted));
      cursor = page.cursor;
      if (!page.atEnd) continue;
      if (over) return;
      // What was logged before the end is written before the end: one more look when it is over.
      over = (await inspector.get(taskId)).runState === 'done';
      if (!over) await news();
    }
  });
}
