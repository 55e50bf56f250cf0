import { isJsonObject, type JsonObject } from '../core/index.ts';

/** Of an error that says that whoever was to answer is gone, and another is there now: what was asked may have been done. */
const RESTARTED = 'restarted';

/** The error by which a request is answered whose answer was lost with whoever was to give it. */
export function restartedError(message: string): JsonObject {
  return { code: -32_603, message, data: { [RESTARTED]: true } };
}

/** Whether an error only stands for an answer that was lost, as when a connection breaks. */
export function isRestarted({ code, data }: { code: number; data?: unknown }): boolean {
  return code === -32_603 && isJsonObject(data) && data[RESTARTED] === true;
}
