// `npm run requirements` prints how many requirements the tests show; with `--update` it first lists the citing tests anew.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cases } from '../test/spec/cases.ts';
import { citationProblems, type Listing, unknownProblems } from '../test/spec/checks.ts';
import { scanTests } from '../test/spec/citations.ts';
import { caseIds, listingOfCase, listingOfRequirement, requirementIds } from '../test/spec/listings.ts';
import { duties, dutyGroups, type Requirement, requirementGroups, requirements } from '../test/spec/requirements.ts';

const root = join(import.meta.dirname, '..');
const all = [...requirements, ...duties];
const citations = scanTests(root);
const cited = new Set(citations.filter(({ runs }) => runs).map(({ id }) => id));

let listings = [...all.map(listingOfRequirement), ...cases.map(listingOfCase)];
if (process.argv.includes('--update')) {
  listings = listings.map(withCitingTests);
  writeFileSync(join(root, 'test/spec/citations.json'), jsonOf(listings));
}

const columns = ['listed', 'cited', 'not applicable', 'open'] as const;
printRow('', columns);
for (const group of Object.keys({ ...requirementGroups, ...dutyGroups })) {
  printCounts(group, (id) => id.startsWith(`${group}-`));
}
printCounts('server', (id) => id.includes('-S-'));
printCounts('client', (id) => id.includes('-C-'));

const ids = listings.map(({ id }) => id);
const problems = [
  ...unknownProblems(ids, requirementIds, citations),
  ...unknownProblems(ids, caseIds, citations),
  ...citationProblems(listings, citations, (file) => existsSync(join(root, file))),
];
for (const problem of problems) console.log(problem);
if (problems.length > 0) process.exitCode = 1;

const [tested, partly, later] = ['tested', 'partly', 'later'].map(
  (state) => cases.filter(({ status }) => status.state === state).length,
);
console.log(`cases: ${cases.length} listed, ${tested} tested, ${partly} partly, ${later} later`);
console.log(`gateway duties: ${sentence(duties)}`);
console.log(`requirements: ${sentence(requirements)}`);

function withCitingTests(listing: Listing): Listing {
  if (listing.untested !== undefined) return listing;
  const files = citations.filter(({ id, runs }) => runs && id === listing.id).map(({ file }) => file);
  return { ...listing, tests: [...new Set(files)] };
}

/** As the formatter wants it: one id a line, its tests beside it where they fit. */
function jsonOf(entries: readonly Listing[]): string {
  const lines = entries
    .filter(({ tests }) => tests.length > 0)
    .map(({ id, tests }, index, { length }) => {
      const line = `  "${id}": ${JSON.stringify(tests).replaceAll('","', '", "')}`;
      const comma = index + 1 < length ? 1 : 0;
      return line.length + comma <= 120
        ? line
        : `  "${id}": ${JSON.stringify(tests, null, 2).replaceAll('\n', '\n  ')}`;
    });
  return lines.length > 0 ? `{\n${lines.join(',\n')}\n}\n` : '{}\n';
}

function count(entries: readonly Requirement[]): Record<(typeof columns)[number], number> {
  const shown = entries.filter(({ id, status }) => status.state === 'claimed' && cited.has(id)).length;
  const notApplicable = entries.filter(({ status }) => status.state === 'not_applicable').length;
  // A claim that no test shows is as open as one left for later.
  const open = entries.length - shown - notApplicable;
  return { listed: entries.length, cited: shown, 'not applicable': notApplicable, open };
}

function sentence(entries: readonly Requirement[]): string {
  const counts = count(entries);
  return columns.map((column) => `${counts[column]} ${column}`).join(', ');
}

function printCounts(label: string, belongs: (id: string) => boolean): void {
  const counts = count(all.filter(({ id }) => belongs(id)));
  printRow(
    label,
    columns.map((column) => String(counts[column])),
  );
}

function printRow(label: string, cells: readonly string[]): void {
  console.log(label.padEnd(8) + cells.map((cell) => cell.padStart(16)).join(''));
}
