import { describe, expect, it } from 'vitest';
import type { UpstreamTarget } from '../../../src/gateway/config/types.ts';
import { upstreamKey } from '../../../src/gateway/upstreams/upstream-key.ts';

const secret = Buffer.alloc(32, 1);
const local: UpstreamTarget = { command: 'npx', args: ['-y', 'server'], cwd: '/work', env: { A: '1', B: '2' } };
const remote: UpstreamTarget = { url: 'https://a.test/mcp', headers: { 'x-key': 'k' }, forwardAuthorization: false };

describe('the key of an upstream', () => {
  it('is 22 letters that are equal for equal targets, in whatever order they are written', () => {
    expect(upstreamKey(local, secret)).toMatch(/^[\w-]{22}$/);
    expect(upstreamKey({ ...local, env: { B: '2', A: '1' } }, secret)).toBe(upstreamKey(local, secret));
    expect(upstreamKey({ ...local, cwd: '/work/deeper/..' }, secret)).toBe(upstreamKey(local, secret));
    const { cwd: _, ...here } = local;
    expect(upstreamKey(here, secret)).toBe(upstreamKey({ ...local, cwd: process.cwd() }, secret));
  });

  it('is another one for whatever is not the same, and for another secret', () => {
    const others: UpstreamTarget[] = [
      { ...local, command: 'npx2' },
      { ...local, args: ['-y server'] },
      { ...local, args: ['server', '-y'] },
      { ...local, cwd: '/work2' },
      { ...local, env: { A: '1', B: '3' } },
      { ...local, env: { A: '1' } },
      { ...local, env: { A: '1', C: '2' } },
      remote,
      { ...remote, url: 'https://a.test/mcp2' },
      { ...remote, headers: { 'x-key': 'other' } },
      { ...remote, forwardAuthorization: true },
    ];
    const keys = [local, ...others].map((target) => upstreamKey(target, secret));
    expect(new Set([...keys, upstreamKey(local, Buffer.alloc(32, 2))])).toHaveLength(others.length + 2);
  });
});
