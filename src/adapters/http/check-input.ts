import { type JsonObject, NonRetryableError } from '../../core/index.ts';
import type { HttpToolOptions } from './options.ts';
import { jobValues } from './requests.ts';
import { settingsOf } from './settings.ts';

/** Of the length of a key, and none. */
const SOME_KEY = '-'.repeat(24);

/**
 * Says what is wrong with an input of which no request could be made, before anything is begun for it; `undefined`: nothing.
 * @throws {TypeError} {RangeError} naming the option that cannot work.
 */
export function inputChecker(options: HttpToolOptions): (input: JsonObject) => string | undefined {
  const { start, webhookUrl } = settingsOf(options);
  return (input) => {
    try {
      start.request({ input, job: jobValues(SOME_KEY, webhookUrl) });
      return undefined;
    } catch (error) {
      if (error instanceof NonRetryableError) return error.message;
      throw error;
    }
  };
}
