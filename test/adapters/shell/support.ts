import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type ShellToolOptions, shellTool } from '../../../src/adapters/index.ts';
import { isAlive, markedWith, type ProcessIdentity } from '../../../src/adapters/processes/process-table.ts';
import {
  type JobContext,
  type JobEnd,
  type JobLogLine,
  LOCAL_PRINCIPAL,
  type TaskId,
} from '../../../src/core/index.ts';

/** What a job is to run: a program for Node, or one for a shell. */
export type Work = { node: string; stdin?: string } | { sh: string };

export const PATH = process.env.PATH ?? '';

export function commandOf(work: Work) {
  const env = { PATH };
  if ('sh' in work) return { file: '/bin/sh', args: ['-c', work.sh], env };
  return {
    file: process.execPath,
    args: ['-e', work.node],
    env,
    ...(work.stdin !== undefined && { stdin: work.stdin }),
  };
}

/** A folder for jobs, whose processes and files are gone when the test is over. */
export function jobsFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'longcall-jobs-'));
  onTestFinished(() => {
    for (const { pid } of started(folder)) process.kill(pid, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

const keys = new Map<string, string[]>();
let made = 0;

/** A key of a job that no other test has. */
export function newKey(folder: string): string {
  made += 1;
  const key = `job-${process.pid}-${made}`;
  keys.set(folder, [...(keys.get(folder) ?? []), key]);
  return key;
}

/** Processes of the jobs in a folder that are there still. */
export function started(folder: string): ProcessIdentity[] {
  return (keys.get(folder) ?? []).flatMap((key) => markedWith(`LONGCALL_JOB=${key}`)).filter(isAlive);
}

export function contextOf(key: string): JobContext {
  return {
    taskId: `tsk_${key}` as TaskId,
    principal: LOCAL_PRINCIPAL,
    abilities: { form: true },
    startNumber: 1,
    idempotencyKey: key,
    signal: new AbortController().signal,
    traceparent: undefined,
    prepared: undefined,
    now: Date.now,
    log: () => {},
  };
}

/** The adapter as a new process would have it. */
export function adapterIn(folder: string, options: Partial<ShellToolOptions<Work>> = {}) {
  return shellTool<Work>({ folder, command: commandOf, ...options });
}

type Adapter = ReturnType<typeof adapterIn>;

export async function begin(
  adapter: Adapter,
  folder: string,
  work: Work,
): Promise<{ ref: string; context: JobContext }> {
  const context = contextOf(newKey(folder));
  const { ref } = await adapter.start(work, context);
  return { ref, context };
}

/** How a job ends. */
export async function endOfJob(adapter: Adapter, ref: string): Promise<JobEnd> {
  const context = contextOf(ref);
  for (;;) {
    const news = adapter.changed?.(ref, context);
    const snapshot = await adapter.poll(ref, context);
    if (snapshot.state !== 'working' && snapshot.state !== 'input') return snapshot;
    await news;
  }
}

export async function logOf(adapter: Adapter, ref: string): Promise<JobLogLine[]> {
  const lines: JobLogLine[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await adapter.logs?.(ref, cursor, contextOf(ref));
    if (page === undefined || page.lines.length === 0) return lines;
    lines.push(...page.lines);
    cursor = page.cursor;
  }
}

/** Resolves when a line is in the log of a job that runs. */
export async function lineOf(adapter: Adapter, ref: string, text: string): Promise<void> {
  for (;;) {
    const news = adapter.changed?.(ref, contextOf(ref));
    if ((await logOf(adapter, ref)).some((line) => line.text === text)) return;
    await news;
  }
}

/** What a result says, as text. */
export function textOf(end: JobEnd): string {
  if (end.state !== 'done' || !('result' in end)) return JSON.stringify(end);
  return (end.result.content as { text?: string }[]).map(({ text = '' }) => text).join('\n');
}

export async function run(adapter: Adapter, folder: string, work: Work): Promise<JobEnd> {
  return endOfJob(adapter, (await begin(adapter, folder, work)).ref);
}
