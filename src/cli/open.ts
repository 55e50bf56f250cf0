import { systemClock, systemRandom, type TaskId } from '../core/index.ts';
import { Inspector } from '../engine/inspector.ts'; // Alone, without all that runs tools: a command should start fast.
import { existingSqliteStore } from '../store/index.ts';
import { CliError, EXIT } from './errors.ts';
import type { CommonOptions } from './options.ts';
import { loggerTo, type Output } from './output.ts';

/** A store opened to be looked at: nothing here takes tasks, sweeps, or counts as a worker. */
export interface OpenedStore {
  inspector: Inspector;
  /** Resolves when something was committed by somebody, or after a while. */
  news(): Promise<void>;
}

/** How long to wait for news before looking again. */
const LOOK_AGAIN_MS = 1_000;
/** How many candidates a prefix that is too short is answered with. */
const CANDIDATES = 5;

/** Opens the file for as long as `use` takes. */
export async function withStore<Result>(
  { db, keyFile }: Pick<CommonOptions, 'db' | 'keyFile'>,
  output: Output,
  use: (opened: OpenedStore) => Promise<Result>,
): Promise<Result> {
  const environment = { clock: systemClock, random: systemRandom, logger: loggerTo(output) };
  const { store, dispatcher } = await existingSqliteStore(
    db,
    keyFile === undefined ? {} : { encryption: { file: keyFile } },
  ).open(environment);
  let wake = (): void => {};
  // Listening is also what makes our own changes heard by servers and workers at once.
  const unsubscribe = dispatcher.onBell(() => wake());
  try {
    return await use({
      inspector: new Inspector(async () => store, systemRandom),
      news: () =>
        new Promise((resolve) => {
          const timer = setTimeout(resolve, LOOK_AGAIN_MS);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        }),
    });
  } finally {
    unsubscribe();
    await store.close();
  }
}

/** The task an id, or the beginning of one, stands for. */
export async function resolveId(inspector: Inspector, given: string): Promise<TaskId> {
  if (given === '') throw new CliError('give an id, or the beginning of one');
  let ids = await inspector.find(given, CANDIDATES + 1);
  if (ids.length === 0 && !given.startsWith('tsk_')) ids = await inspector.find(`tsk_${given}`, CANDIDATES + 1);
  const [first, ...others] = ids;
  if (first === undefined) {
    throw new CliError(
      `no task ${JSON.stringify(given)} in this file; \`longcall admin ls\` shows which there are`,
      EXIT.notFound,
    );
  }
  if (others.length === 0 || first === given) return first;
  const shown = ids.slice(0, CANDIDATES).join('\n  ');
  const more = ids.length > CANDIDATES ? '\n  …' : '';
  throw new CliError(`${given} is the beginning of several ids:\n  ${shown}${more}`);
}
