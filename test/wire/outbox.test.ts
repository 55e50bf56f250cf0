import { describe, expect, it } from 'vitest';
import { Outbox } from '../../src/wire/outbox.ts';

const MARK = 'longcall/outcome';
const open = new AbortController().signal;

/** A stand-in as the SDK sends it: wrapped, and stamped with who serves. */
function asSent(standIn: { _meta: Record<string, unknown> }, id: unknown = 1) {
  const _meta = { ...standIn._meta, 'io.modelcontextprotocol/serverInfo': { name: 's', version: '1' } };
  return { jsonrpc: '2.0', id, result: { ...standIn, _meta, resultType: 'complete' } };
}

describe('the outbox', () => {
  it('puts a result in the place of its stand-in and keeps the stamp of the server [G3-S-89]', () => {
    const outbox = new Outbox();
    const standIn = outbox.standIn({ result: { resultType: 'task', taskId: 't' } }, open);
    expect(outbox.outbound(asSent(standIn))).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        resultType: 'task',
        taskId: 't',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 's', version: '1' } },
      },
    });
  });

  it('puts an error in the place of its stand-in, with nothing of it left', () => {
    const outbox = new Outbox();
    const error = { code: -32021, message: 'no', data: { a: 1 } };
    const standIn = outbox.standIn({ error }, open);
    expect(outbox.outbound(asSent(standIn, 'x'))).toEqual({ jsonrpc: '2.0', id: 'x', error });
  });

  it('keeps what the real result says in its own _meta', () => {
    const outbox = new Outbox();
    const standIn = outbox.standIn({ result: { _meta: { mine: 1 } } }, open);
    const { result } = outbox.outbound(asSent(standIn)) as { result: { _meta: object } };
    expect(Object.keys(result._meta)).toEqual(['io.modelcontextprotocol/serverInfo', 'mine']);
  });

  it('uses a key once', () => {
    const outbox = new Outbox();
    const standIn = outbox.standIn({ result: { secret: true } }, open);
    outbox.outbound(asSent(standIn));
    expect(outbox.size).toBe(0);
    const again = outbox.outbound(asSent(standIn)) as { result: object };
    expect(again.result).not.toHaveProperty('secret');
    expect(again.result).not.toHaveProperty(['_meta', MARK]);
  });

  it.each([['another outbox made'], ['nobody made'], ['is no string']])('takes off a mark whose key %s', (whose) => {
    const outbox = new Outbox();
    outbox.standIn({ result: { secret: true } }, open);
    const keys: Record<string, unknown> = {
      'another outbox made': new Outbox().standIn({ result: {} }, open)._meta[MARK],
      'nobody made': 'guess',
      'is no string': { toString: 'guess' },
    };
    const message = { jsonrpc: '2.0', id: 1, result: { content: [], _meta: { [MARK]: keys[whose], kept: 1 } } };
    expect(outbox.outbound(message)).toEqual({ jsonrpc: '2.0', id: 1, result: { content: [], _meta: { kept: 1 } } });
    expect(outbox.size).toBe(1);
  });

  it('lets every other message pass untouched', () => {
    const outbox = new Outbox();
    for (const message of [
      { jsonrpc: '2.0', method: 'notifications/progress', params: { _meta: { [MARK]: 'x' } } },
      { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'm' } },
      { jsonrpc: '2.0', id: 1, result: { _meta: [] } },
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 1, result: null },
    ]) {
      expect(outbox.outbound(message)).toBe(message);
    }
  });

  it('forgets an answer whose request was cancelled, before or after it was given', () => {
    const outbox = new Outbox();
    const request = new AbortController();
    const dropped: string[] = [];
    outbox.standIn({ result: {} }, request.signal, { dropped: () => dropped.push('waiting') });
    request.abort();
    outbox.standIn({ result: {} }, request.signal, { dropped: () => dropped.push('late') });
    expect(dropped).toEqual(['waiting', 'late']);
    expect(outbox.size).toBe(0);
  });

  it('does not call an answer off that has left', () => {
    const outbox = new Outbox();
    const request = new AbortController();
    let dropped = false;
    const standIn = outbox.standIn({ result: {} }, request.signal, {
      dropped: () => {
        dropped = true;
      },
    });
    outbox.outbound(asSent(standIn));
    request.abort();
    expect(dropped).toBe(false);
  });
});
