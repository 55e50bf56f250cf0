import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** No task is kept longer, so none asks for its job after so long. */
const KEPT_MS = 31 * 24 * 3_600_000;
const swept = new Set<string>();

/** Removes what was left of jobs whose task ended while nobody was there to see it. Once in the life of a process. */
export function sweepJobs(folder: string): void {
  if (swept.has(folder)) return;
  swept.add(folder);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    // A runner shows that it lives by a file in it, which it touches.
    const runner = statSync(join(path, 'runner.json'), { throwIfNoEntry: false });
    const last = Math.max(stats?.mtimeMs ?? Date.now(), runner?.mtimeMs ?? 0);
    if (Date.now() - last > KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
}
