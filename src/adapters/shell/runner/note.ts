import { writeSync } from 'node:fs';

/** For operators, in a file of the job's folder. Never a reason to fail: the disk that it is on may be full. */
export function note(text: string): void {
  try {
    writeSync(2, `longcall: ${text}\n`);
  } catch {
    // There is nobody else to tell.
  }
}
