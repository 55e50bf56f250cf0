import type { Chance } from '../sim/chance.ts';
import type { Node } from './tree.ts';

const raw = (text: string): Node => ({ kind: 'raw', text });
const string = (text: string): Node => raw(JSON.stringify(text));

/** Member names that mean something to JavaScript, or to us. */
export const oddNames = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  'toJSON',
  '',
  'a\u0000b',
  'longcall/outcome',
  'longcall/task',
  'longcall/round',
  'longcall/inputResponses',
  'resultType',
  'task',
  'method',
  'result',
  'error',
  'id',
  'jsonrpc',
  '_meta',
] as const;

const scalars: readonly Node[] = [
  ...['null', 'true', 'false', '0', '-0', '1', '-1', '0.5', '1e400', '-1e400', '1e-400'].map(raw),
  ...[
    '9007199254740991',
    '9007199254740993',
    '-9007199254740993',
    '4294967296',
    '1e21',
    '123456789012345678901234567890',
  ].map(raw),
  ...[
    '',
    ' ',
    'null',
    'undefined',
    '__proto__',
    'constructor',
    '0',
    '-1',
    'NaN',
    'tsk_',
    'lc-',
    'lcx-',
    'lc-task.',
    '%00',
    '../..',
  ].map(string),
  ...[
    '\u0000',
    'a\u0000b',
    '\u2028',
    '👩‍👩‍👧',
    'ﷺ'.repeat(20),
    '=?base64?eA==?=',
    "'; drop table tasks; --",
    '{{7*7}}',
  ].map(string),
  raw('"\\ud800"'),
  raw('"a\\udc00\\ud800b"'),
  raw('"\\u0000"'),
];

const containers: readonly Node[] = [
  raw('{}'),
  raw('[]'),
  raw('[[]]'),
  raw('[null]'),
  raw('{"":{}}'),
  raw('{"__proto__":{"taskId":"x","tasks":{}}}'),
  raw('{"constructor":{"prototype":{"x":1}}}'),
  raw('{"toString":1,"valueOf":null,"toJSON":"x"}'),
  raw('{"then":{"then":1}}'),
  raw('{"length":4294967295}'),
  raw('{"a":1,"a":2}'),
];

/** Costly to make and to take in, so they come seldom. */
const large: readonly Node[] = [
  raw('{{repeat [ 10000}}{{repeat ] 10000}}'),
  raw('{{repeat [ 950}}{{repeat ] 950}}'),
  raw('{{repeat {"a": 10000}}1{{repeat } 10000}}'),
  raw('"{{repeat x 100000}}"'),
  raw('"{{repeat é 3000}}"'),
  raw('[{{repeat 0, 20000}}0]'),
  raw('{{repeat 9 400}}'),
  raw('[{{repeat {}, 5000}}{}]'),
];

/** What is no JSON where a value should stand. */
const broken: readonly Node[] = [
  '',
  'undefined',
  'NaN',
  'Infinity',
  "'x'",
  '"\\x"',
  '"a\nb"',
  '{',
  ']',
  '01',
  '1.',
  '/**/1',
  '"\u0000"',
].map(raw);

/** A value of any kind, to stand where another one is expected. */
export function oddValue(chance: Chance): Node {
  const kind = chance.weighted([
    ['scalar', 12],
    ['container', 5],
    ['large', 0.6],
    ['broken', 0.8],
  ] as const);
  switch (kind) {
    case 'container':
      return chance.pick(containers);
    case 'large':
      return chance.pick(large);
    case 'broken':
      return chance.pick(broken);
    default:
      return chance.pick(scalars);
  }
}
