import { readdirSync, readFileSync } from 'node:fs';
import { ProgressReader, type ProgressSeen } from '../../../src/adapters/shell/progress/progress-reader.ts';

export interface RecordedLine {
  text: string;
  stream: 'stdout' | 'stderr';
}

const folder = new URL('./recordings/', import.meta.url);

/** Names of all recordings. @see recordings/README.md */
export const recordings: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith('.txt'))
  .map((file) => file.slice(0, -'.txt'.length))
  .sort();

export function recorded(name: string): RecordedLine[] {
  return readFileSync(new URL(`${name}.txt`, folder), 'utf8')
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => ({ text: line.slice(2), stream: line.startsWith('o') ? 'stdout' : 'stderr' }));
}

/** `text` as lines of stdout. */
export function printed(text: string): RecordedLine[] {
  return text.split('\n').map((line) => ({ text: line, stream: 'stdout' }));
}

/** What is seen at the end. */
export function seenIn(lines: readonly RecordedLine[], reader = new ProgressReader()): ProgressSeen {
  for (const { text, stream } of lines) reader.line(text, stream);
  return reader.seen;
}

/** What is seen after each line that changed it. */
export function stepsIn(lines: readonly RecordedLine[], reader = new ProgressReader()): ProgressSeen[] {
  return lines.flatMap(({ text, stream }) => (reader.line(text, stream) ? [reader.seen] : []));
}

/** Progress that cannot be: above its total, no whole number, or lower than before in the same phase. */
export function impossible(steps: readonly ProgressSeen[]): ProgressSeen[] {
  return steps.filter((step, at) => {
    const { progress, total } = step.progress ?? { progress: 0 };
    const before = steps[at - 1];
    const fell = before?.phase === step.phase && (before?.progress?.progress ?? 0) > progress;
    const whole = Number.isSafeInteger(progress) && Number.isSafeInteger(total ?? 0) && progress >= 0;
    return fell || !whole || (total !== undefined && progress > total) || (step.phase ?? 0) < (before?.phase ?? 0);
  });
}
