import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

const root = new URL('../..', import.meta.url);

/** What a process of its own writes to stderr by the logger that is there unless another one is given. */
function logged(fields: object, message: string): string {
  const program = `
    import { createTasks, sqliteStore } from 'longcall';
    const { logger } = createTasks({ store: sqliteStore(':memory:') });
    const { fields, message } = JSON.parse(process.argv[1]);
    logger.warn({ ...fields, error: new Error(fields.owner) }, message);
    logger.info({}, 'not told unless it is asked for');
  `;
  const args = ['--input-type=module', '-e', program, JSON.stringify({ fields, message })];
  const { stderr, stdout, status } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  return stderr;
}

describe('what operators are told by default', () => {
  it('is one line, whatever is in it', () => {
    const owner = 'a\n{"level":50,"msg":"forged"}\r\n\u001b[2J';
    const text = logged({ owner }, 'told\nto operators');
    expect(text.trimEnd().split(/[\r\n]/)).toHaveLength(1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
    expect(text.trimEnd()).not.toMatch(/[\u0000-\u001f]/);
    const told = JSON.parse(text) as { error: object };
    expect(told).toMatchObject({ level: 40, owner, msg: 'told\nto operators', error: { type: 'Error' } });
    // What an error says may be a payload; where it was thrown is not.
    expect(JSON.stringify(told.error)).not.toContain('forged');
  });
});
