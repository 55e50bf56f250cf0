// What the conductor holds against the server's word: the file its steps write to, and a list of checks.
import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { say } from './screen.ts';

/** One step that began to run: when, in which process. */
export interface StepStart {
  at: number;
  pid: number;
  step: string;
}

export function readStepLog(file: string): StepStart[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => {
    const [at, pid, ...step] = line.split(' ');
    return { at: Number(at), pid: Number(pid), step: step.join(' ') };
  });
}

/** The steps that began more than once, by name, and how often at most. */
export function repeated(starts: readonly StepStart[]): { steps: string[]; most: number } {
  const counts = new Map<string, number>();
  for (const { step } of starts) counts.set(step, (counts.get(step) ?? 0) + 1);
  const steps = [...counts].filter(([, count]) => count > 1).map(([step]) => step);
  return { steps, most: Math.max(0, ...counts.values()) };
}

export class Checks {
  passed = 0;
  failed = 0;

  equal(what: string, got: unknown, expected: unknown): void {
    this.holds(what, isDeepStrictEqual(got, expected), JSON.stringify(expected), JSON.stringify(got));
  }

  holds(what: string, ok: boolean, expected: string, got: unknown): void {
    if (ok) {
      this.passed += 1;
      say('check', `ok: ${what}`);
    } else {
      this.failed += 1;
      say('check', `FAILED: ${what}\n            expected ${expected}\n            got      ${got}`);
    }
  }
}
