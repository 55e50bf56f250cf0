/** Must, should, may, informative; K is not in the prose, but the official conformance suite asserts it. */
export type Level = 'M' | 'S' | 'O' | 'I' | 'K';
export type Revision = 'sep-1686' | '2025-11-25' | '2026-07-28' | 'draft' | 'gateway';
/** The issue that will take it; `later` is one after those planned so far. */
export type Issue = 'B' | 'C' | 'D' | 'E' | 'F' | 'G' | 'later';

export type Standing =
  | { state: 'claimed' }
  | { state: 'open'; issue: Issue }
  | { state: 'not_applicable'; reason: string };

/** One row of a table: id, level, standing, source, text. */
export type Row = readonly [id: string, level: Level, standing: Standing, source: string, text: string];

/** We say we do it, and a test that cites the id shows it. */
export const claimed: Standing = { state: 'claimed' };

export function notApplicable(reason: string): Standing {
  return { state: 'not_applicable', reason };
}

/** The first part of each source names a document, the rest its section. */
export const sources: Record<string, string> = {
  S1686: 'SEP-1686, by section number',
  C1031: 'Core draft of 2025-10-31 (commit 726a4db6): utilities/tasks and the schema',
  T25: 'Core specification 2025-11-25, basic/utilities/tasks, by section title',
  25: 'Core specification 2025-11-25, other pages: cancellation, pagination, progress, schema, transports',
  E26: 'Extension io.modelcontextprotocol/tasks, specification 2026-07-28, by section title',
  SEP63: 'SEP-2663, compatibility matrix and rationale',
  26: 'Core specification 2026-07-28: basic, cancel, discover, http, mrtr, schema, stdio, subs(cription), ver(sion)',
  ED: 'Extension io.modelcontextprotocol/tasks, draft after 2026-07-28',
  CONF: 'Official conformance suite, tasks scenarios, by check id',
  GW: 'Our own: what follows for a gateway from translating between the revisions',
};
