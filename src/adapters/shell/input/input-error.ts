/** The input of a call is not what the command can take. The message names the field, says what was expected, and shows no value. */
export class InputError extends Error {
  override readonly name = 'InputError';
  /** As `files` or `files.1`. */
  readonly field: string;

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`);
    this.field = field;
  }
}
