import { type Clock, type Logger, StoreUnavailableError } from '../core/index.ts';

/** How long to wait before something that could not be written is tried again. */
const RETRY_MS = 500;

/**
 * Writes again and again while the store is unavailable: the work behind it is done and must not be lost.
 * @throws what `write` throws otherwise, and the store's trouble too once `givenUp` says so.
 */
export async function persistently<Result>(
  write: () => Promise<Result>,
  parts: { clock: Clock; logger: Logger; fields: object; givenUp?: () => boolean },
): Promise<Result> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || parts.givenUp?.() === true) throw error;
      parts.logger.error({ ...parts.fields, error }, 'a task could not be written; trying again');
      await new Promise<void>((resolve) => parts.clock.setTimer(RETRY_MS, resolve));
    }
  }
}
