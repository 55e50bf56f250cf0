import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from '../../adapters/processes/process-table.ts';
import { isJsonObject, type RandomSource } from '../../core/index.ts';
import { writeAtomically } from './secret.ts';

/** What a daemon that listens says of itself in its folder; it takes it away before it ends. */
export interface DaemonRecord {
  pid: number;
  /** Tells this process from a later one with the same number; nothing where the system does not. */
  process?: ProcessIdentity;
  version: string;
  socket: string;
  /** Milliseconds since the Unix epoch. */
  startedAt: number;
}

export function recordPath(folder: string): string {
  return join(folder, 'daemon.json');
}

/** Nothing where no daemon listens. Of one that was killed, what it left. */
export function readRecord(folder: string): DaemonRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(recordPath(folder), 'utf8'));
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { pid, process, version, socket, startedAt } = value;
  if (typeof pid !== 'number' || typeof startedAt !== 'number') return undefined;
  if (typeof version !== 'string' || typeof socket !== 'string') return undefined;
  const identity = isJsonObject(process) ? { process: process as unknown as ProcessIdentity } : {};
  return { pid, ...identity, version, socket, startedAt };
}

export function writeRecord(folder: string, record: DaemonRecord, random: RandomSource): void {
  writeAtomically(recordPath(folder), `${JSON.stringify(record)}\n`, random);
}

export function removeRecord(folder: string): void {
  rmSync(recordPath(folder), { force: true });
}
