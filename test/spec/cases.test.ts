import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { caseKinds, cases } from './cases.ts';
import { citationProblems, idProblems, reasonProblems, unknownProblems } from './checks.ts';
import { scanTests } from './citations.ts';
import { caseIds, listingOfCase } from './listings.ts';

const root = join(import.meta.dirname, '../..');
const ids = cases.map(({ id }) => id);

// The checks are shown to fail where they should in requirements.test.ts.
describe('the table of failure cases', () => {
  it.each(Object.entries(caseKinds))('has every case of kind %s once', (kind, expected) => {
    const listed = cases.filter((entry) => entry.kind === kind).map(({ id }) => id);
    expect(idProblems(listed, expected)).toEqual([]);
  });

  it('gives a reason for each one that is not wholly tested', () => {
    const reasons = cases.map(({ id, status }) => ({
      id,
      reason: status.state === 'tested' ? undefined : status.reason,
    }));
    expect(reasonProblems(reasons)).toEqual([]);
  });

  it('claims what tests cite, and nothing else', () => {
    const citations = scanTests(root);
    expect([
      ...unknownProblems(ids, caseIds, citations),
      ...citationProblems(cases.map(listingOfCase), citations, (file) => existsSync(join(root, file))),
    ]).toEqual([]);
  });
});
