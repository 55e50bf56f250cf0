import { fingerprint, type JobAdapter, type JobContext, type JsonValue } from '../../core/index.ts';
import type { ChildSupport } from '../child-support.ts';
import type { TaskContext } from '../context.ts';
import type { JobOptions } from './run-job.ts';

/** A job of a task. */
export interface TheJob<Args, Ref extends JsonValue> {
  adapter: JobAdapter<Args, Ref>;
  args: Args;
  task: TaskContext;
  support: ChildSupport;
  options: JobOptions;
  /** What it is called in records and to people. */
  name: string;
  /** What tells it from others of the task, the same on every run. */
  place: string;
}

/** One start of it: more than one only where the one before was lost. */
export interface OneStart<Args, Ref extends JsonValue> extends TheJob<Args, Ref> {
  context: JobContext;
  /** Its own among all starts of all jobs, the same in every process. */
  id: string;
  /** Where something of it is recorded. */
  key: (what: string) => string;
}

export function oneStart<Args, Ref extends JsonValue>(job: TheJob<Args, Ref>, number: number): OneStart<Args, Ref> {
  const { task, support, place } = job;
  const { id: taskId, principal, signal } = task;
  const { abilities, traceparent } = support;
  const idempotencyKey = keyOfStart(taskId, place, number);
  const context: JobContext = {
    taskId,
    principal,
    abilities,
    startNumber: number,
    idempotencyKey,
    signal,
    traceparent,
    prepared: task.prepared,
    now: () => support.now(),
    log: (text, level) => task.log(text, level),
  };
  return { ...job, context, id: idempotencyKey, key: (what) => keyOfRecord(place, number, what) };
}

export function keyOfStart(taskId: string, place: string, number: number): string {
  return fingerprint(`job ${taskId}/${place}/${number}`, 'base64url', 24);
}

/** @param what `intent`: it is about to be started; `ref`: what it is known by; `state`: how far it is watched */
export function keyOfRecord(place: string, number: number, what: string): string {
  return number === 1 ? `job ${place} ${what}` : `job ${place} ${number} ${what}`;
}

/** The record that says that a job is started for the `number`th time. */
export function keyOfRestart(place: string, number: number): string {
  return `job ${place} start ${number}`;
}
