import { systemClock, systemRandom } from '../../core/index.ts';
import type { OpenBackend } from './backend.ts';
import { startDaemon } from './daemon.ts';
import { privateFolder } from './private-folder.ts';
import { TAKEN } from './reach.ts';
import { rotatingLogger } from './rotating-log.ts';

/** After everything was handed over, whatever still keeps the process ends with it. */
const EXIT_MS = 5_000;

export interface RunOptions {
  folder: string;
  version: string;
  open: OpenBackend;
  /** @default 5 min */
  idleMs?: number;
  env: NodeJS.ProcessEnv;
  /** It listens. */
  up?(folder: string): void;
}

/**
 * Is the daemon of a folder, until SIGTERM, SIGINT or `daemon stop`, or until nobody needs it. A second signal ends it at
 * once.
 * @returns the exit code
 * @throws {DaemonError} when the folder cannot be used.
 */
export async function runDaemon(options: RunOptions): Promise<number> {
  process.umask(0o077);
  process.on('SIGHUP', () => {}); // The terminal it was started from is not its own.
  const folder = privateFolder(options.folder);
  const logger = rotatingLogger(folder);
  const daemon = await startDaemon({ ...options, folder, logger, clock: systemClock, random: systemRandom });
  if (daemon === undefined) {
    logger.info({ folder }, 'another daemon is at work');
    return TAKEN;
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      process.once(signal, () => process.exit(1));
      daemon.close(signal).catch(() => {}); // Told below.
    });
  }
  options.up?.(folder);
  try {
    await daemon.closed;
    logger.info({}, 'the daemon has ended');
    return 0;
  } finally {
    setTimeout(() => process.exit(), EXIT_MS).unref();
  }
}
