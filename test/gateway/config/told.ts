import { ConfigError } from '../../../src/gateway/config/problems.ts';

/** What is told about a file, a line each, without the file's name; nothing when it is good. */
export function problemsOf(load: () => unknown): string[] {
  try {
    load();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n').map((line) => line.replace('longcall.yaml:', ''));
  }
}
