import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { titlesIn } from '../spec/citations.ts';
import { page, root } from './sources.ts';

const security = page('security.md');

/** Rows of the tables that name tests: threat, guard, and what shows it. */
const rows = security
  .split(/^## /m)
  .filter((section) => section.startsWith('Threats, guards, tests\n'))
  .flatMap((section) => section.split('\n'))
  .filter((line) => line.startsWith('| ') && !/^\| (---|threat \|)/.test(line))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));

interface Named {
  file: string;
  title: string;
}

function testsOf(shown: string): Named[] {
  return [...shown.matchAll(/`(test\/[^`]+\.test\.ts)` "([^"]+)"/g)].map(([, file, title]) => ({
    file: file as string,
    title: title as string,
  }));
}

/** What is wrong with a test that is said to show something; undefined if nothing is. */
function problem({ file, title }: Named): string | undefined {
  const path = join(root, file);
  if (!existsSync(path)) return `${file} does not exist`;
  const tests = titlesIn(file, readFileSync(path, 'utf8')).filter(({ kind }) => kind === 'test');
  // Without the requirements and cases it cites.
  const found = tests.filter((test) => test.title.replace(/( \[[^\]]+\])+$/, '') === title);
  if (found.length === 0) return `${file} has no test "${title}"`;
  return found.every(({ runs }) => runs) ? undefined : `${file} does not run "${title}"`;
}

describe('the threats', () => {
  it('are many, each with a guard', () => {
    expect(rows.length).toBeGreaterThan(35);
    expect(rows.filter((cells) => cells.length !== 3 || cells.some((cell) => cell === ''))).toEqual([]);
  });

  it.each(rows.map(([threat = '', , shown = '']) => [threat, shown]))('%s: has tests that show it', (_, shown) => {
    const named = testsOf(shown);
    expect(named.length).toBeGreaterThan(0);
    expect(named.map(problem).filter((found) => found !== undefined)).toEqual([]);
    // Nothing is said to be shown that is not looked for.
    expect(shown.replace(/`test\/[^`]+\.test\.ts` "[^"]+"/g, '')).toMatch(/^[; ]*$/);
  });

  it('would be found out without their tests', () => {
    const file = 'test/docs/security.test.ts';
    expect(problem({ file: 'test/gone.test.ts', title: 'x' })).toBe('test/gone.test.ts does not exist');
    expect(problem({ file, title: 'x' })).toBe(`${file} has no test "x"`);
    expect(problem({ file, title: 'are many, each with a guard' })).toBeUndefined();
    const skipped = titlesIn(file, "describe.skip('a', () => { it('b', () => {}); });");
    expect(skipped.map(({ title, runs }) => ({ title, runs }))).toEqual([
      { title: 'a', runs: false },
      { title: 'b', runs: false },
    ]);
  });
});
