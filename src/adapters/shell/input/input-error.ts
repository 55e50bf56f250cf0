import { NonRetryableError } from '../../../core/index.ts';

/**
 * The input of a call is not what the command can take. The message names the field, says what was expected, and shows no value. It
 * stays so, however often it is tried.
 */
export class InputError extends NonRetryableError {
  /** As `files` or `files.1`. */
  readonly field: string;

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`);
    this.field = field;
  }
}
