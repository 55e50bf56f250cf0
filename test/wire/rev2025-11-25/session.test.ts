import { describe, expect, it } from 'vitest';
import * as v25 from '../../../src/wire/rev2025-11-25/index.ts';
import { Seal } from '../../../src/wire/seal.ts';

const seal = new Seal(new Uint8Array(32).fill(7));
const ann = { subject: 'ann' };
const SUPPORTED = ['2025-11-25', '2025-06-18'];

function hello(params: object) {
  return { jsonrpc: '2.0', id: 1, method: 'initialize', params };
}

describe('a session', () => {
  const said = hello({
    protocolVersion: '2025-06-18',
    capabilities: { elicitation: {}, tasks: { list: {} } },
    clientInfo: { name: 'x'.repeat(500), version: '1', title: 'dropped' },
  });

  it('is what was said at initialize, and no more of it than is needed', () => {
    const session = v25.readInitialize(said, 'some id', SUPPORTED)!;
    expect(session).toMatchObject({ id: 'some id', version: '2025-06-18', client: { version: '1' } });
    expect(session.client?.name).toHaveLength(100);
    expect(session.capabilities).toMatchObject({ abilities: { form: true }, tasks: { any: true } });
  });

  it.each([['2026-07-28'], ['unknown'], [7], [undefined]])('has the newest version where %s is asked for', (asked) => {
    expect(v25.readInitialize(hello({ protocolVersion: asked }), 'id', SUPPORTED)?.version).toBe('2025-11-25');
  });

  it.each([[undefined], ['text'], [[said]], [{ method: 'ping' }], [{ method: 'initialize', params: 'none' }]])(
    'is not begun by %j',
    (message) => {
      expect(v25.readInitialize(message, 'id', SUPPORTED)).toBeUndefined();
    },
  );

  it('is its own id, which opens for its principal alone', () => {
    const session = v25.readInitialize(said, 'some id', SUPPORTED)!;
    const id = v25.encodeSession(session, ann, seal);
    expect(id).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(v25.decodeSession(id, ann, seal)).toEqual(session);
    expect(v25.decodeSession(id, { subject: 'bob' }, seal)).toBeUndefined();
    expect(v25.decodeSession(id, { tenant: 'other', subject: 'ann' }, seal)).toBeUndefined();
    expect(v25.decodeSession(id, ann, new Seal(new Uint8Array(32).fill(8)))).toBeUndefined();
    for (const other of ['', 'x', id.slice(1), `${id}A`]) expect(v25.decodeSession(other, ann, seal)).toBeUndefined();
  });
});

describe('a progress token', () => {
  it.each([[5], ['5'], ['[odd"\\'], [0], ['']])('%j means something in its session alone', (token) => {
    const kept = v25.keepToken('mine', token);
    expect(v25.keptToken('mine', kept)).toBe(token);
    for (const other of ['', 'min', 'mine",', 'other']) expect(v25.keptToken(other, kept)).toBeUndefined();
    expect(v25.keptToken('', v25.keepToken('', token))).toBe(token);
  });

  it('that was kept in another way is none', () => {
    for (const kept of [undefined, 5, 'plain', '["mine"]', '']) expect(v25.keptToken('mine', kept)).toBeUndefined();
  });
});
