import type { Inspector } from '../engine/inspector.ts';
import type { PastAttempt, TaskInspection, TaskPayloads, TimelineEntry } from '../store/index.ts';
import { bytes, duration, iso, oneLine, relative, safe, table } from './format.ts';
import { resolveId, withStore } from './open.ts';
import type { CommonOptions } from './options.ts';
import type { Output } from './output.ts';

interface ShowOptions extends CommonOptions {
  payloads?: boolean;
}

const ENCRYPTED = '(encrypted)';
const TIMELINE_PAGE = 1_000;
/** A person wants to know how it came to this; everything is in `--json`. */
const TIMELINE_SHOWN = 200;

export function showTask(given: string, options: ShowOptions, output: Output): Promise<void> {
  return withStore(options, output, async ({ inspector }) => {
    const taskId = await resolveId(inspector, given);
    const task = await inspector.get(taskId);
    const attempts = await inspector.attempts(taskId);
    const timeline = await wholeTimeline(inspector, taskId);
    const payloads = options.payloads ? await inspector.payloads(taskId) : undefined;
    if (options.json) return output.json({ ...task, attempts, timeline, ...(payloads && { payloads }) });
    const now = Date.now();
    const sections = [
      section(taskId, fieldsOf(task, now), output),
      section('Questions', questionsOf(task), output),
      section('Attempts', attempts.map(attemptOf), output),
      section('Timeline', timelineOf(timeline), output),
      ...(payloads === undefined ? [] : payloadsOf(payloads).map(([name, value]) => block(name, value, output))),
    ];
    return output.write(`${sections.filter((text) => text !== '').join('\n\n')}\n`);
  });
}

async function wholeTimeline(inspector: Inspector, taskId: string): Promise<TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  for (;;) {
    const page = await inspector.timeline(taskId, { after: entries.at(-1)?.seq ?? 0, limit: TIMELINE_PAGE });
    entries.push(...page);
    if (page.length < TIMELINE_PAGE) return entries;
  }
}

function section(title: string, rows: readonly string[][], { colors, width }: Output): string {
  if (rows.length === 0) return '';
  return [colors.bold(title), ...table(rows, width - 2).map((line) => `  ${line}`)].join('\n');
}

function block(title: string, value: unknown, { colors }: Output): string {
  return `${colors.bold(title)}\n${safe(JSON.stringify(value, null, 2)).replaceAll(/^/gm, '  ')}`;
}

function fieldsOf(task: TaskInspection, now: number): string[][] {
  const { progress, lease, error, principal } = task;
  const when = (at: number): string => `${iso(at)}  ${relative(at, now)}`;
  const counted =
    progress && (progress.total === undefined ? `${progress.progress}` : `${progress.progress}/${progress.total}`);
  const waits = task.runState === 'ready' && task.availableAt !== undefined && task.availableAt > now;
  const fields: [string, string | undefined][] = [
    ['status', `${task.status} (${task.runState})`],
    ['message', task.statusMessage],
    ['progress', counted && `${counted} ${progress?.message ?? ''}`.trimEnd()],
    ['error', error && `${error.code} ${error.message}`],
    ['reason', task.cancelReason],
    ['tool', task.toolVersion === undefined ? task.name : `${task.name} (version ${task.toolVersion})`],
    ['principal', principal.tenant === undefined ? principal.subject : `${principal.subject} of ${principal.tenant}`],
    ['revision', task.revision],
    ['created', when(task.createdAt)],
    ['updated', when(task.updatedAt)],
    ['ended', task.endedAt === undefined ? undefined : when(task.endedAt)],
    ['expires', task.expiresAt === null ? 'never' : when(task.expiresAt)],
    ['runs again', waits ? when(task.availableAt ?? 0) : undefined],
    ['attempt', `${task.attempt} of ${task.maxAttempts}, lost workers: ${task.onWorkerLost}`],
    ['active', `${duration(task.activeMs)}${task.timeoutMs === undefined ? '' : ` of ${duration(task.timeoutMs)}`}`],
    ['lease', lease && `${lease.worker}, fence ${lease.fence}, since ${iso(lease.since)}, until ${iso(lease.until)}`],
    ['steps', String(task.steps)],
    ['log', bytes(task.logBytes)],
    ['labels', task.labels && JSON.stringify(task.labels)],
    ['encrypted', task.sealed && sealedNote(task.sealed)],
  ];
  return fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, oneLine(value)]]));
}

/** Why something is missing. */
function sealedNote(keys: readonly string[]): string {
  return `what is missing does not open; it needs key ${keys.map((id) => `"${id}"`).join(', ')} (--key-file)`;
}

function questionsOf({ questions }: TaskInspection): string[][] {
  return questions.map(({ key, message, askedAt, deadline, answeredAt, action, by }) => {
    const until = deadline === undefined ? '' : `, until ${iso(deadline)}`;
    const answered =
      answeredAt === undefined ? `open${until}` : `${action}${by === undefined ? '' : ` by ${by}`}, ${iso(answeredAt)}`;
    return [oneLine(key), iso(askedAt), oneLine(answered), oneLine(message)];
  });
}

function attemptOf(past: PastAttempt): string[] {
  const { fence, attempt, worker, startedAt, endedAt, outcome, error, sealed } = past;
  const took = endedAt === undefined ? 'running' : duration(endedAt - startedAt);
  return [
    `#${attempt}`,
    `fence ${fence}`,
    oneLine(worker),
    iso(startedAt),
    took,
    outcome ?? '',
    oneLine(error ?? (sealed === undefined ? '' : ENCRYPTED)),
  ];
}

function timelineOf(timeline: readonly TimelineEntry[]): string[][] {
  const rows = timeline.slice(-TIMELINE_SHOWN).map(({ seq, type, body, at, sealed }) => {
    const details = Object.entries(body ?? {}).map(([name, value]) => {
      const shown = name === 'until' && typeof value === 'number' ? iso(value) : value;
      return `${name}=${typeof shown === 'string' ? shown : JSON.stringify(shown)}`;
    });
    if (sealed !== undefined) details.push(ENCRYPTED);
    return [String(seq), iso(at), oneLine(type), oneLine(details.join(' '))];
  });
  const left = timeline.length - rows.length;
  return left === 0 ? rows : [['…', `${left} earlier entries; all of them with --json`], ...rows];
}

function payloadsOf(payloads: TaskPayloads): [string, unknown][] {
  const { input, prepared, result, error, steps, answers } = payloads;
  const all: [string, unknown][] = [
    ['Arguments', input],
    ['Prepared', prepared],
    ['Step values', steps.length > 0 ? steps : undefined],
    ['Answers', answers.length > 0 ? answers : undefined],
    ['Result', result],
    ['Error', error],
  ];
  return all.filter(([, value]) => value !== undefined);
}
