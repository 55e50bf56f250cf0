import type { TaskId } from '../../../core/index.ts';
import type { ShellCommand } from '../options.ts';

/** What a runner is told, through a pipe: nothing of it is ever on a disk. */
export interface RunnerOrder {
  key: string;
  taskId: TaskId;
  command: ShellCommand & { cwd: string };
  limits: {
    timeoutMs?: number;
    graceMs: number;
    headBytes: number;
    tailBytes: number;
    maxOutputBytes?: number;
  };
  secrets: readonly string[];
  progress: boolean;
}

/** What a runner says, once: the command runs or could not be started; or there is another runner. */
export type RunnerWord = 'begun' | 'taken';
