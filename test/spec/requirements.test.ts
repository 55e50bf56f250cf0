import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { citationProblems, idProblems, type Listing, numbered, reasonProblems, unknownProblems } from './checks.ts';
import { type Citation, citationsIn, scanTests } from './citations.ts';
import { listingOfRequirement, requirementIds } from './listings.ts';
import { sources } from './requirements/row.ts';
import { duties, dutyGroups, requirementGroups, requirements } from './requirements.ts';

const root = join(import.meta.dirname, '../..');
const all = [...requirements, ...duties];
const ids = all.map(({ id }) => id);

describe('the table of requirements', () => {
  it('has all 284 requirements and 20 gateway duties, each once', () => {
    expect(requirements).toHaveLength(284);
    expect(duties).toHaveLength(20);
    expect(idProblems(ids, numbered({ ...requirementGroups, ...dutyGroups }))).toEqual([]);
  });

  it('says where each one comes from', () => {
    const unknown = all.filter(({ source }) => !(source.split(/[ /;]/, 1)[0]! in sources));
    expect(unknown).toEqual([]);
  });

  it('gives a reason for each one that does not apply', () => {
    expect(reasonProblems(all.map(({ id, status }) => ({ id, reason: reasonOf(status) })))).toEqual([]);
  });

  it('claims what tests cite, and nothing else', () => {
    const citations = scanTests(root);
    expect([
      ...unknownProblems(ids, requirementIds, citations),
      ...citationProblems(all.map(listingOfRequirement), citations, (file) => existsSync(join(root, file))),
    ]).toEqual([]);
  });
});

function reasonOf(status: (typeof all)[number]['status']): string | undefined {
  return status.state === 'not_applicable' ? status.reason : undefined;
}

describe('the checks themselves', () => {
  it('see a missing, a surplus and a repeated id', () => {
    const expected = numbered({ 'X-S': 2, Y: 1 });
    expect(expected).toEqual(['X-S-01', 'X-S-02', 'Y-01']);
    expect(idProblems(['X-S-01', 'X-S-03', 'X-S-03', 'Y-01'], expected)).toEqual([
      'X-S-02: missing',
      'X-S-03: not in the numbering',
      'X-S-03: not in the numbering',
      'X-S-03: listed twice',
    ]);
  });

  it('see an empty reason', () => {
    const entries = [{ id: 'X-01', reason: ' ' }, { id: 'X-02', reason: 'A good one.' }, { id: 'X-03' }];
    expect(reasonProblems(entries)).toEqual(['X-01: has no reason']);
  });

  it('see a citation of an id that nobody lists, but leave other kinds to their own table', () => {
    const citations = [cite('X-09', 'test/a.test.ts'), cite('C-001', 'test/a.test.ts')];
    expect(unknownProblems(['X-01'], /^X/, citations)).toEqual(['X-09: cited by test/a.test.ts:1, but listed nowhere']);
  });

  const claim: Listing = { id: 'X-01', tests: ['test/a.test.ts'] };
  const postponed: Listing = { id: 'X-01', tests: [], untested: 'still open' };
  it.each<[what: string, listing: Listing, citations: Citation[], problems: string[]]>([
    ['agreement', claim, [cite('X-01', 'test/a.test.ts')], []],
    ['a claim without a test', { ...claim, tests: [] }, [], ['X-01: claimed, but no test cites it']],
    [
      'a claim whose only test is skipped',
      { ...claim, tests: [] },
      [{ ...cite('X-01', 'test/a.test.ts'), runs: false }],
      ['X-01: claimed, but only tests that do not run cite it'],
    ],
    [
      'a listed test that does not exist',
      { ...claim, tests: ['test/a.test.ts', 'test/gone.test.ts'] },
      [cite('X-01', 'test/a.test.ts')],
      ['X-01: test/gone.test.ts does not exist'],
    ],
    [
      'a listed test that does not cite it',
      { ...claim, tests: ['test/a.test.ts', 'test/b.test.ts'] },
      [cite('X-01', 'test/a.test.ts'), cite('X-02', 'test/b.test.ts')],
      ['X-01: test/b.test.ts does not cite it'],
    ],
    [
      'a citing test that is not listed',
      claim,
      [cite('X-01', 'test/a.test.ts'), cite('X-01', 'test/b.test.ts')],
      ['X-01: test/b.test.ts cites it, but is not listed (run with --update)'],
    ],
    [
      'a citation of an open one',
      postponed,
      [cite('X-01', 'test/a.test.ts')],
      ['X-01: test/a.test.ts cites it, but it is still open'],
    ],
    ['a planned test for an open one', postponed, [{ ...cite('X-01', 'test/a.test.ts'), runs: false }], []],
    [
      'an open one that lists tests',
      { ...postponed, tests: ['test/a.test.ts'] },
      [],
      ['X-01: lists test/a.test.ts, but it is still open'],
    ],
  ])('see %s', (_, listing, citations, problems) => {
    expect(citationProblems([listing], citations, (file) => file !== 'test/gone.test.ts')).toEqual(problems);
  });
});

describe('reading the citations of a test file', () => {
  // The ids are put together so that these samples are no citations of this file.
  const id = (number: number) => `[${'X'.replace('X', 'G3')}-S-0${number}]`;
  const read = (source: string) => citationsIn('test/a.test.ts', source).map(({ id, runs }) => [id, runs]);

  it.each([
    ['plain calls', `it('does ${id(1)} and ${id(2)}', () => {});`, ['G3-S-01', 'G3-S-02']],
    ['test and describe', `describe("a ${id(1)}", () => { test("b ${id(2)}", run); });`, ['G3-S-01', 'G3-S-02']],
    ['calls over several lines', `it(\n  'does\\\n it ${id(1)}',\n  async () => {},\n);`, ['G3-S-01']],
    ['template literals', `it(\`on \${name} ${id(1)} and \${more} ${id(2)}\`, run);`, ['G3-S-01', 'G3-S-02']],
    ['joined strings', `it('long ' + ('title ${id(1)}' + ' end ${id(2)}'), run);`, ['G3-S-01', 'G3-S-02']],
    ['rows', `it.each([['x']])('title %s ${id(1)}', run);`, ['G3-S-01']],
    ['tagged rows', `it.each\`a | b\n\${1} | \${2}\`('title $a ${id(1)}', run);`, ['G3-S-01']],
    ['conditions', `test.runIf(linux).concurrent('title ${id(1)}', run);`, ['G3-S-01']],
    ['extended tests', `const wired = test.extend({}); wired('title ${id(1)}', run);`, ['G3-S-01']],
    ['misspelt lists', `it('title [${id(1).slice(1, -1)}, other]', run);`, ['G3-S-01, other']],
  ])('finds them in %s', (_, source, found) => {
    expect(read(source)).toEqual(found.map((id) => [id, true]));
  });

  it.each([
    ['comments', `// it('does ${id(1)}', run)\n/* ${id(2)} */`],
    ['bodies', `it('does', () => { expect('${id(1)}').toBe("${id(2)}"); });`],
    ['rows of values', `it.each(['${id(1)}'])('%s', run);`],
    ['other calls', `log('${id(1)}'); helper.it('${id(1)}');`],
    ['other brackets', `it('reads [P1], list[0] and [C-style]', run);`],
  ])('finds none in %s', (_, source) => {
    expect(read(source)).toEqual([]);
  });

  it.each([
    ['it.skip', `it.skip('does ${id(1)}', run);`],
    ['it.todo', `it.todo('does ${id(1)}');`],
    ['it.fails', `it.fails('does ${id(1)}', run);`],
    ['a skipped row', `it.skip.each([1])('does ${id(1)}', run);`],
    ['a skipped group', `describe.skip('group', () => { it('does ${id(1)}', run); });`],
    ['an option', `it('does ${id(1)}', { skip: true }, run);`],
  ])('knows that %s shows nothing', (_, source) => {
    expect(read(source)).toEqual([['G3-S-01', false]]);
  });
});

function cite(id: string, file: string): Citation {
  return { id, file, line: 1, runs: true };
}
