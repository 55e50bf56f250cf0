import { describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/cli/calls/describe.ts';
import { commandEnd } from '../../../src/cli/calls/ran.ts';
import type { CallEnd } from '../../../src/client/index.ts';
import type { JsonObject } from '../../../src/core/index.ts';

const ended = (structuredContent: JsonObject, last: string, isError = true): CallEnd => ({
  kind: 'completed',
  result: {
    content: [
      { type: 'text', text: 'what it wrote' },
      { type: 'text', text: last },
      { type: 'resource_link', uri: 'x' },
    ],
    structuredContent: { stdoutBytes: 14, stderrBytes: 0, ...structuredContent },
    ...(isError && { isError }),
  },
});

describe('the end of a command', () => {
  it('is its exit code', () => {
    expect(commandEnd(ended({ exitCode: 3 }, 'exit code 3 after 1.0 s'))).toEqual({ exitCode: 3, wrote: true });
    const silent = ended({ exitCode: 0, stdoutBytes: 0 }, 'exit code 0 after 1.0 s', false);
    expect(commandEnd(silent)).toEqual({ exitCode: 0, wrote: false });
  });

  it('is 128 and the signal, with what else there is to say', () => {
    const killed = ended({ exitCode: null, signal: 'SIGKILL' }, 'killed by SIGKILL after 1.0 s\n2 passed');
    expect(commandEnd(killed)).toEqual({ exitCode: 137, remark: 'killed by SIGKILL after 1.0 s', wrote: true });
  });

  it('is no success when it was stopped, whatever it says of itself', () => {
    const late = ended({ exitCode: 0, stoppedBy: 'timeout' }, 'timed out: it was stopped after 1.0 s');
    expect(commandEnd(late)).toMatchObject({ exitCode: 1, remark: expect.stringContaining('timed out') });
    const never = ended({ exitCode: null }, 'It could not be started: spawn x EACCES');
    expect(commandEnd(never)).toMatchObject({ exitCode: 1, remark: 'It could not be started: spawn x EACCES' });
  });

  it('is only one where a command ran and ended', () => {
    const cancelled: CallEnd = { kind: 'cancelled' };
    expect(commandEnd(cancelled)).toBeUndefined();
    expect(exitCodeOf(cancelled, { ran: true })).toBe(4);
    expect(exitCodeOf({ kind: 'lost', message: 'gone' }, { ran: true })).toBe(5);
    const failed: CallEnd = { kind: 'failed', error: { code: -32_603, message: 'the machine was restarted' } };
    expect([exitCodeOf(failed, { ran: true }), exitCodeOf(failed, { ran: false })]).toEqual([5, 1]);
    expect(exitCodeOf(ended({ exitCode: 3 }, 'x'), { ran: true })).toBe(3);
    expect(exitCodeOf(ended({ exitCode: 3 }, 'x'), { ran: false })).toBe(1); // The result of a tool that says so.
    expect(commandEnd({ kind: 'completed', result: { content: [] } })).toBeUndefined();
  });
});
