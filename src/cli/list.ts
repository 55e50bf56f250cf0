import type { TaskStatus } from '../core/index.ts';
import type { TaskOverview } from '../store/index.ts';
import { progressText } from '../wire/status-message.ts';
import { CliError } from './errors.ts';
import { iso, oneLine, relative, table } from './format.ts';
import { withStore } from './open.ts';
import { type CommonOptions, type FilterOptions, filterOf } from './options.ts';
import type { Output } from './output.ts';

interface ListOptions extends CommonOptions, FilterOptions {
  limit: number;
  cursor?: string;
}

const HEADINGS = ['ID', 'STATUS', 'STATE', 'TOOL', 'CREATED', 'ATTEMPT', 'NOTE'];
/** Enough of an id to be told from others, and to be given back to us, in a window of ordinary width. */
const SHORT_ID = 14;

export function listTasks(options: ListOptions, output: Output): Promise<void> {
  const { limit, cursor } = options;
  return withStore(options, output, async ({ inspector }) => {
    const page = await inspector
      .list({ ...filterOf(options), limit, ...(cursor !== undefined && { cursor }) })
      .catch((error: unknown) => {
        if (error instanceof TypeError && cursor !== undefined) throw new CliError(`--cursor: ${error.message}`);
        throw error;
      });
    if (options.json) return output.json(page);
    const now = Date.now();
    const rows = page.tasks.map((task) => rowOf(task, now, output.isTerminal));
    const [heading = '', ...lines] = table([HEADINGS, ...rows], output.width);
    const colored = lines.map((line, n) => painted(line, page.tasks[n]?.status, output));
    await output.write(`${[output.colors.bold(heading), ...colored].join('\n')}\n`);
    if (page.nextCursor !== undefined) output.warn(`there are more: --cursor ${page.nextCursor}\n`);
  });
}

function rowOf(task: TaskOverview, now: number, short: boolean): string[] {
  return [
    short ? task.taskId.slice(0, SHORT_ID) : task.taskId,
    task.status,
    task.runState,
    oneLine(task.name),
    short ? relative(task.createdAt, now) : iso(task.createdAt),
    String(task.attempt),
    noteOf(task),
  ];
}

function noteOf({ statusMessage, progress, sealed }: TaskOverview): string {
  if (sealed !== undefined) return '(encrypted)';
  if (statusMessage !== undefined) return oneLine(statusMessage);
  return progress === undefined ? '' : oneLine(progressText(progress));
}

function painted(line: string, status: TaskStatus | undefined, { colors }: Output): string {
  if (status === undefined || status === 'working') return line;
  const paint = { completed: colors.green, failed: colors.red, input_required: colors.yellow, cancelled: colors.gray };
  return line.replace(` ${status} `, (word) => paint[status](word)); // The first one: only an id stands before it.
}
