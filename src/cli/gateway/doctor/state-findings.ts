import { readOwnTask } from '../../../gateway/own/own-kinds.ts';
import { bytes } from '../../format.ts';
import type { DaemonFacts, Facts, StateFacts } from './facts.ts';
import { counted, type Found, fail, ok, UNREADABLE, warn } from './finding.ts';

const LOW_BYTES = 1024 ** 3;
const FULL_BYTES = 100 * 1024 ** 2;
/** Each task is flushed at least twice. */
const SLOW_FSYNC_MS = 100;

export function stateFindings(facts: Pick<Facts, 'state' | 'daemon' | 'configured'>): Found[] {
  const { state } = facts;
  return [folderFinding(state), ...placeFindings(state), diskFinding(state), ...storeFindings(facts)];
}

function folderFinding({ folder, exists, refused, writable, of }: StateFacts): Found {
  if (!exists && writable) return ok('state-new', `${folder} is not there yet: it is made when it is needed`);
  if (refused !== undefined && of === 'daemon') {
    return fail(UNREADABLE, refused, 'the folder lets others run commands as you: only you may open it');
  }
  if (!writable) {
    const message = `${folder} cannot be ${exists ? 'written' : 'made'}`;
    return fail('state-not-writable', message, 'see whose it is and its modes, or name another with --state');
  }
  if (refused !== undefined) {
    return warn('state-open', refused, 'it holds arguments and results of calls: only you should be able to open it');
  }
  return ok('state-folder', `${folder} is yours alone`);
}

function placeFindings({ fileSystem, locks, fsync }: StateFacts): Found[] {
  const found: Found[] = [];
  const elsewhere = 'name a folder on a local disk with --state';
  if (fileSystem?.kind === 'network') {
    found.push(
      fail(
        'state-on-network',
        `it is on a network file system (${fileSystem.name}), where SQLite loses data`,
        elsewhere,
      ),
    );
  } else if (fileSystem?.kind === 'memory') {
    found.push(
      warn(
        'state-in-memory',
        `it is in memory (${fileSystem.name}): tasks are gone when the machine restarts`,
        elsewhere,
      ),
    );
  } else if (fileSystem?.kind === 'container') {
    found.push(
      warn(
        'state-in-container',
        `it is in a layer of a container (${fileSystem.name}): tasks are gone with the container`,
        'mount a volume there',
      ),
    );
  }
  if (locks === 'ignored') {
    found.push(
      fail(
        'state-locks-ignored',
        'its file system lets two processes hold one lock: they would destroy the store',
        elsewhere,
      ),
    );
  } else if (typeof locks === 'object') {
    found.push(fail('state-locks-failed', `its file system cannot lock files: ${locks.failed}`, elsewhere));
  }
  if (fsync !== undefined && 'failed' in fsync) {
    found.push(fail('state-fsync-failed', `its file system cannot flush files: ${fsync.failed}`, elsewhere));
  } else if (fsync !== undefined && fsync.ms >= SLOW_FSYNC_MS) {
    found.push(
      warn(
        'state-fsync-slow',
        `a flush to the disk takes ${Math.round(fsync.ms)} ms, and a task needs a few`,
        'a faster disk makes tasks faster; nothing is lost',
      ),
    );
  } else if (fsync !== undefined && locks === 'kept') {
    found.push(ok('state-file-system', `locks hold between processes, and a flush takes ${fsync.ms.toFixed(1)} ms`));
  }
  return found;
}

function diskFinding({ freeBytes }: StateFacts): Found {
  const free = `${bytes(freeBytes)} are free`;
  if (freeBytes < FULL_BYTES) return fail('disk-full', `${free}: soon no task can be taken`, 'free some space');
  if (freeBytes < LOW_BYTES) return warn('disk-low', free, 'free some space before no task can be taken any more');
  return ok('disk', free);
}

function storeFindings({ state, daemon, configured }: Pick<Facts, 'state' | 'daemon' | 'configured'>): Found[] {
  const { store, unreadable, sizes } = state;
  if (unreadable !== undefined) return [fail(UNREADABLE, unreadable, 'what is said there, then look again')];
  if (store === undefined) return [];
  const open = store.open.reduce((sum, { count }) => sum + count, 0);
  const size = `tasks ${bytes(sizes.tasks)}, calls ${bytes(sizes.calls)}, log ${bytes(sizes.log)}`;
  return [
    schemaFinding(store.schema, store.ownSchema, `${counted(open, 'open task')}; ${size}`),
    ...waiting(state, daemon, configured),
  ];
}

function schemaFinding(schema: number, own: number, text: string): Found {
  if (schema === own) return ok('store', text);
  return schema > own
    ? warn(
        'store-newer',
        `${text}; a newer release wrote it (schema ${schema}, this one knows ${own})`,
        'update longcall',
      )
    : ok(
        'store-older',
        `${text}; an older release wrote it (schema ${schema}, this one ${own})`,
        'the next start brings it up to date',
      );
}

/** Tasks go on when their upstream is there, and nobody can know where that is but who has named it. */
function waiting({ store, folder }: StateFacts, daemon: DaemonFacts, configured: string[] | undefined): Found[] {
  const known = daemon.running ? daemon.upstreams : configured;
  if (known === undefined) return [];
  const by = daemon.running ? 'no host has named since the daemon started' : 'the file does not name';
  const counts = new Map<string, number>();
  for (const { tool, count } of store?.open ?? []) {
    if (readOwnTask(tool) !== undefined) continue; // They need nobody to name them.
    const at = tool.indexOf('/');
    const upstream = at < 0 ? tool : tool.slice(0, at);
    if (!known.includes(upstream)) counts.set(upstream, (counts.get(upstream) ?? 0) + count);
  }
  return [...counts].map(([upstream, count]) =>
    warn(
      'tasks-wait-for-upstream',
      `${count === 1 ? '1 task waits' : `${count} tasks wait`} for the upstream "${upstream}", which ${by}`,
      `${daemon.running ? 'start the host that wraps it' : 'name it again'}, or see them with: longcall admin ls --status open --db ${folder}/tasks.db`,
    ),
  );
}
