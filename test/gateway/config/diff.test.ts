import { expect, it } from 'vitest';
import { diffByName } from '../../../src/gateway/config/diff.ts';
import { parseConfig } from '../../../src/gateway/config/load.ts';

const read = (text: string, env = {}) => parseConfig(text, 'longcall.yaml', { env, folder: '/' }).config.upstreams;

it('tells upstreams that came, went, changed and stayed', () => {
  const before = read('upstreams: { a: { command: a }, b: { command: b, ttl: 1h }, c: { command: c } }');
  const after = read('upstreams: { d: { command: d }, b: { ttl: 2h, command: b }, a: { prefix: a_, command: [a] } }');
  expect(diffByName(before, after)).toEqual({ added: ['d'], removed: ['c'], changed: ['b'], kept: ['a'] });
});

it('takes for the same what only is written otherwise', () => {
  const before = read('upstreams: { a: { command: a, timeout: 60s, env: { A: x, B: y } } }');
  const after = read('# new\nupstreams:\n  a: { env: { B: "y", A: x }, timeout: 1m, command: [a] }');
  expect(diffByName(before, after)).toEqual({ added: [], removed: [], changed: [], kept: ['a'] });
});

it('notices another secret', () => {
  const text = `upstreams: { a: { command: a, env: { TOKEN: "\${env:T}" } } }`;
  expect(diffByName(read(text, { T: 'one' }), read(text, { T: 'two' })).changed).toEqual(['a']);
});

it('notices another order of rules, which may decide', () => {
  const before = read('upstreams: { a: { command: a, tools: { "x*": { ttl: 1h }, "*y": { ttl: 2h } } } }');
  const after = read('upstreams: { a: { command: a, tools: { "*y": { ttl: 2h }, "x*": { ttl: 1h } } } }');
  expect(diffByName(before, after).changed).toEqual(['a']);
});
