import type { JobLogLine } from '../../src/core/index.ts';
import { supportOf } from '../../src/engine/child-support.ts';
import type { TaskContext } from '../../src/engine/index.ts';

/** Puts lines into the log of a task as a job's come there: with the stream that a process wrote them to. */
export function writes(task: TaskContext, ...lines: JobLogLine[]): void {
  const support = supportOf(task);
  if (support === undefined) throw new Error('this runs as no task');
  for (const line of lines) support.logLine(line);
}

/** Lines as a command under a terminal writes them. */
export const OUTPUT: readonly JobLogLine[] = [
  { text: '\u001b[32m ok\u001b[39m one.test', stream: 'stdout' },
  { text: '\u001b[31mFAIL\u001b[39m two.test\u0007', stream: 'stderr' },
  { text: '10%\r20%\r30%', stream: 'stdout' },
  { text: 'half way', level: 'warning' },
];
