import { isJsonObject, type JobEnd, type JsonObject, type JsonValue, plainText } from '../../core/index.ts';
import type { Frame } from './frames.ts';
import type { JobExit } from './job-files.ts';
import { readFrames } from './log-lines.ts';
import { segmentsIn } from './log-segments.ts';
import type { ProgressSeen } from './progress/progress-reader.ts';

export interface ResultOptions {
  resultBytes: number;
  okCodes: readonly number[];
  output: 'text' | 'json';
  timeoutMs: number | undefined;
  maxOutputBytes: number | undefined;
  /** Where all of the output can be read. */
  logUri: string;
}

/** More is no answer to a call. */
const MAX_JSON_BYTES = 4 * 1024 * 1024;
const SHOWN_FAILURES = 20;

/** How a job ended, as the end of its task. */
export function endOf(folder: string, exit: JobExit, options: ResultOptions): JobEnd {
  if (exit.cause === 'cancel') return { state: 'cancelled' };
  const sentence = sentenceOf(exit, options);
  const ok = exit.cause === undefined && exit.code !== null && options.okCodes.includes(exit.code);
  if (options.output === 'json' && ok) return jsonEnd(folder, exit, sentence, options);
  const { text, whole } = shownOutput(folder, options.resultBytes);
  const content: JsonValue[] = [];
  if (text !== '') content.push({ type: 'text', text });
  content.push({ type: 'text', text: [sentence, ...countLines(exit.seen), ...trouble(exit)].join('\n') });
  if (!whole) content.push(linkTo(options.logUri));
  return {
    state: 'done',
    outcome: ok ? 'ok' : 'error',
    result: { content, structuredContent: structured(exit), ...(!ok && { isError: true }) },
  };
}

function sentenceOf(exit: JobExit, { timeoutMs, maxOutputBytes }: ResultOptions): string {
  const { code, signal, startedAt, endedAt } = exit;
  const took = `after ${duration(endedAt - startedAt)}`;
  if (exit.trouble !== undefined) return `It could not be started: ${exit.trouble.message}`;
  switch (exit.cause) {
    case 'timeout':
      return `timed out: it was stopped ${took}, as it took longer than its limit of ${duration(timeoutMs ?? 0)}`;
    case 'output':
      return `It was stopped ${took}: it wrote more than its limit of ${maxOutputBytes} bytes`;
    case 'stopped':
      return `It was stopped ${took}, as its runner was told to end`;
    default:
      return code === null ? `killed by ${signal} ${took}` : `exit code ${code} ${took}`;
  }
}

function trouble({ killed, left, escaped }: JobExit): string[] {
  return [
    ...(killed > 0 ? [`${killed} of its processes did not end in time and were killed`] : []),
    ...(left.length > 0 ? [`processes that could not be ended: ${left.join(', ')}`] : []),
    ...(escaped.length > 0 ? [`processes that it left running on purpose: ${escaped.join(', ')}`] : []),
  ];
}

function countLines(seen: ProgressSeen | undefined): string[] {
  if (seen === undefined) return [];
  const { passed, failed, skipped, failures = [] } = seen;
  const counts = Object.entries({ passed, failed, skipped }).flatMap(([what, count]) =>
    count === undefined ? [] : [`${count} ${what}`],
  );
  const names = failures.slice(0, SHOWN_FAILURES).map((name) => `failed: ${name}`);
  return [...(counts.length > 0 ? [counts.join(', ')] : []), ...names];
}

function structured({ code, signal, cause, startedAt, endedAt, stdout, stderr, seen }: JobExit): JsonObject {
  const { passed, failed, skipped, failures } = seen ?? {};
  return {
    exitCode: code,
    ...(signal !== null && { signal }),
    ...(cause !== undefined && { stoppedBy: cause }),
    durationMs: endedAt - startedAt,
    stdoutBytes: stdout.bytes,
    stderrBytes: stderr.bytes,
    ...(passed !== undefined && { passed }),
    ...(failed !== undefined && { failed }),
    ...(skipped !== undefined && { skipped }),
    ...(failures !== undefined && { failures: [...failures] }),
  };
}

function linkTo(uri: string): JsonObject {
  return { type: 'resource_link', uri, name: 'log', description: 'All of the output', mimeType: 'text/plain' };
}

/** What stdout says, as JSON. */
function jsonEnd(folder: string, exit: JobExit, sentence: string, options: ResultOptions): JobEnd {
  const told = (problem: string): JobEnd => ({
    state: 'done',
    outcome: 'error',
    result: {
      content: [
        { type: 'text', text: `${sentence}, but its output is not what it should be: ${problem}` },
        linkTo(options.logUri),
      ],
      isError: true,
    },
  });
  if (exit.stdout.bytes > MAX_JSON_BYTES) return told(`expected at most ${MAX_JSON_BYTES} bytes of JSON on stdout`);
  const text = stdoutOf(folder);
  if (text === undefined) return told('it is not all there any more');
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return told('expected JSON on stdout, and nothing else');
  }
  const structuredContent: JsonObject = isJsonObject(value) ? value : { result: value };
  const result = { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent };
  return { state: 'done', outcome: 'ok', result };
}

/** undefined: some of it was dropped. */
function stdoutOf(folder: string): string | undefined {
  const found: Buffer[] = [];
  for (let cursor = 0; ; ) {
    const page = readFrames(folder, cursor);
    if (page.dropped > 0) return undefined;
    if (page.frames.length === 0) return Buffer.concat(found).toString('utf8');
    found.push(...page.frames.filter(({ stream }) => stream === 'stdout').map(({ data }) => data));
    cursor = page.cursor;
  }
}

/** The output as people read it: whole, or its beginning and its end. */
function shownOutput(folder: string, most: number): { text: string; whole: boolean } {
  const head = textFrom(folder, 0, most);
  if (head.atEnd && Buffer.byteLength(head.text) <= most) return { text: head.text.trimEnd(), whole: true };
  const end = segmentsIn(folder).at(-1);
  const half = Math.floor(most / 2);
  const tail = tailOf(folder, end === undefined ? 0 : end.start, half);
  const beginning = cutEnd(head.text, half);
  const left = 'the rest is left out here; all of it is in the log';
  return { text: `${beginning}\n… (${left})\n${tail}`.trimEnd(), whole: false };
}

function textFrom(folder: string, from: number, most: number): { text: string; atEnd: boolean } {
  let text = '';
  for (let cursor = from; text.length <= most; ) {
    const page = readFrames(folder, cursor);
    if (page.dropped > 0) return { text, atEnd: false };
    if (page.frames.length === 0) return { text, atEnd: true };
    text += page.frames.map(textOf).join('');
    cursor = page.cursor;
  }
  return { text, atEnd: false };
}

/** The last bytes of what is kept, whole lines of it. */
function tailOf(folder: string, lastSegment: number, most: number): string {
  const before = segmentsIn(folder).at(-2);
  let text = '';
  // The last piece may have been begun a moment ago.
  for (let cursor = before?.start ?? lastSegment; ; ) {
    const page = readFrames(folder, cursor);
    if (page.frames.length === 0) break;
    text = (text + page.frames.map(textOf).join('')).slice(-2 * most);
    cursor = page.cursor;
  }
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  const cut = bytes.subarray(bytes.length - most).toString('utf8');
  const line = cut.indexOf('\n');
  return line >= 0 && line < cut.length - 1 ? cut.slice(line + 1) : cut.replace(/^\uFFFD+/, '');
}

function cutEnd(text: string, most: number): string {
  const cut = Buffer.from(text)
    .subarray(0, most)
    .toString('utf8')
    .replace(/\uFFFD+$/, '');
  const line = cut.lastIndexOf('\n');
  return line > 0 ? cut.slice(0, line) : cut;
}

function textOf({ overlong, data }: Frame): string {
  return overlong ? '' : plainText(data.toString('utf8'));
}

function duration(ms: number): string {
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  const rest = `${minutes % 60} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  return minutes < 60 ? rest : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
