import { type Clock, systemClock } from '../../core/index.ts';
import { endFamily } from '../processes/process-family.ts';
import { isAlive, markedWith, type ProcessIdentity } from '../processes/process-table.ts';
import { isOfThisMachine, type JobFiles, type KnownProcess, type RunnerRecord } from './job-files.ts';

/** What is known of the runner of a job. */
export type RunnerState =
  | { is: 'none' }
  | { is: 'alive'; here: boolean; record: RunnerRecord }
  | { is: 'gone'; why: string };

/** Whether somebody runs the job. Its end may be on record all the same: that is looked at after this. */
export function runnerState(files: JobFiles): RunnerState {
  const record = files.runner;
  if (record === undefined) return { is: 'none' };
  switch (isOfThisMachine(record)) {
    case 'other boot':
      return { is: 'gone', why: 'the machine was started anew while it ran' };
    case 'other namespace':
      // Of another container: its numbers mean nothing here, but both write to one disk.
      if (files.beats) return { is: 'alive', here: false, record };
      return { is: 'gone', why: 'it ran in a container that is gone' };
    case 'here': {
      const alive = isIdentity(record.runner) ? isAlive(record.runner) : files.beats;
      return alive ? { is: 'alive', here: true, record } : { is: 'gone', why: 'its runner was killed' };
    }
  }
}

export function isIdentity(known: KnownProcess | undefined): known is ProcessIdentity {
  return known !== undefined && 'started' in known;
}

/** Ends whatever is left of a command whose runner is gone. Never anybody who only has the number of one of its processes. */
export async function endLeftovers(
  files: JobFiles,
  key: string,
  graceMs: number,
  clock: Clock = systemClock,
): Promise<number[]> {
  const more = (): ProcessIdentity[] => markedWith(`LONGCALL_JOB=${key}`);
  const { command } = files;
  const [first] = more();
  const leader = isIdentity(command) ? command : first;
  if (leader === undefined) return [];
  const { left } = await endFamily(leader, { clock, termGraceMs: graceMs, more });
  return left.map(({ pid }) => pid);
}
