import type { Citation } from './citations.ts';

/** What a table says about the tests behind one of its entries. */
export interface Listing {
  id: string;
  /** Undefined where tests show it; else the end of the sentence "a test cites it, but it is ...". */
  untested?: string;
  tests: readonly string[];
}

/** A group of size 3 named `GW` has the ids GW-01, GW-02, GW-03. */
export function numbered(groups: Record<string, number>): string[] {
  return Object.entries(groups).flatMap(([group, size]) =>
    Array.from({ length: size }, (_, index) => `${group}-${String(index + 1).padStart(2, '0')}`),
  );
}

export function idProblems(ids: readonly string[], expected: readonly string[]): string[] {
  return [
    ...expected.filter((id) => !ids.includes(id)).map((id) => `${id}: missing`),
    ...ids.filter((id) => !expected.includes(id)).map((id) => `${id}: not in the numbering`),
    ...ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `${id}: listed twice`),
  ];
}

/** A reason is asked of every entry that tests do not show, or not wholly. */
export function reasonProblems(entries: readonly { id: string; reason?: string | undefined }[]): string[] {
  return entries.filter(({ reason }) => reason !== undefined && !reason.trim()).map(({ id }) => `${id}: has no reason`);
}

/** Tests that cite an id of this kind which no table lists. */
export function unknownProblems(ids: readonly string[], kind: RegExp, citations: readonly Citation[]): string[] {
  return citations
    .filter(({ id }) => kind.test(id) && !ids.includes(id))
    .map(({ id, file, line }) => `${id}: cited by ${file}:${line}, but listed nowhere`);
}

/** Compares the tests a table lists with the tests that cite its ids. */
export function citationProblems(
  listings: readonly Listing[],
  citations: readonly Citation[],
  exists: (file: string) => boolean,
): string[] {
  return listings.flatMap(({ id, untested, tests }) => {
    const all = citations.filter((citation) => citation.id === id);
    const citing = [...new Set(all.filter(({ runs }) => runs).map(({ file }) => file))];
    if (untested !== undefined) {
      return [
        ...citing.map((file) => `${id}: ${file} cites it, but it is ${untested}`),
        ...tests.map((file) => `${id}: lists ${file}, but it is ${untested}`),
      ];
    }
    const problems = tests
      .filter((file) => !citing.includes(file))
      .map((file) => (exists(file) ? `${id}: ${file} does not cite it` : `${id}: ${file} does not exist`));
    const unlisted = citing.filter((file) => !tests.includes(file));
    problems.push(...unlisted.map((file) => `${id}: ${file} cites it, but is not listed (run with --update)`));
    if (citing.length > 0) return problems;
    const why = all.length > 0 ? 'only tests that do not run cite it' : 'no test cites it';
    return [...problems, `${id}: claimed, but ${why}`];
  });
}
