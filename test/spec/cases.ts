import citations from './citations.json' with { type: 'json' };
import type { Issue } from './requirements/row.ts';

/** A failure that people who run long tools have reported in public, turned into a test for us. */
export interface FailureCase {
  id: string;
  kind: Kind;
  title: string;
  status:
    | { state: 'tested'; tests: readonly string[] }
    | { state: 'partly'; tests: readonly string[]; issue: Issue; reason: string }
    | { state: 'later'; issue: Issue; reason: string };
}

type Kind = 'wire-shape' | 'negotiation' | 'isolation' | 'context' | 'input flow';
type Standing =
  | { state: 'tested' }
  | { state: 'partly'; issue: Issue; reason: string }
  | { state: 'later'; issue: Issue; reason: string };
type Row = readonly [id: string, kind: Kind, title: string, standing: Standing];

/** How many cases each kind has, in the order of their numbers. */
export const caseKinds: Record<Kind, readonly string[]> = {
  'wire-shape': numbers(1, 12),
  negotiation: numbers(13, 17),
  isolation: numbers(58, 61),
  context: numbers(62, 63),
  'input flow': numbers(70, 74),
};

const tested: Standing = { state: 'tested' };
const peerReading = later('E', 'It is about how a client of ours reads a peer.');

// biome-ignore format: two lines a case read like the table they are.
const rows: readonly Row[] = [
  ['C-001', 'wire-shape', 'Payload of a failed task thrown away',
    partly('C', 'The 2025-11-25 server, the client, the gateway and the fallback tools have to show it too.')],
  ['C-002', 'wire-shape', 'Server hides errors under completed', peerReading],
  ['C-003', 'wire-shape', 'Flat and nested task handles confused', peerReading],
  ['C-004', 'wire-shape', 'Validator rejects a legal task answer', tested],
  ['C-005', 'wire-shape', 'Schema check hides an error payload',
    partly('C', 'tasks/result of 2025-11-25 and a client of ours have to show it too.')],
  ['C-006', 'wire-shape', 'Related-task metadata missing or in the wrong place',
    later('C', 'Only 2025-11-25 has that key.')],
  ['C-007', 'wire-shape', 'Peer omits required task fields', peerReading],
  ['C-008', 'wire-shape', 'Timestamps invented at read time', tested],
  ['C-009', 'wire-shape', 'Replayed answer is not a legal result',
    later('B', 'Idempotency keys bring replays.')],
  ['C-010', 'wire-shape', 'Unknown id reported as working',
    partly('C', 'tasks/result of 2025-11-25 and a client of ours have to show it too.')],
  ['C-011', 'wire-shape', 'Server fault blamed on the client',
    partly('B', 'Of a task, the line in the log is missing; and inline, what an optional tool threw looks the same.')],
  ['C-012', 'wire-shape', 'Routing header not checked against the body',
    partly('E', 'That our client always sends the header comes with the client.')],
  ['C-013', 'negotiation', 'Capability object one level too shallow',
    later('C', 'Only 2025-11-25 has that path.')],
  ['C-014', 'negotiation', 'Extension methods from a client that never opted in', tested],
  ['C-015', 'negotiation', 'Task-only tool unreachable from an ordinary client',
    partly('C', 'Detach mode and sessions of 2025-11-25 have to show it too.')],
  ['C-016', 'negotiation', 'Two error codes for call-me-as-a-task', peerReading],
  ['C-017', 'negotiation', 'Handle sent to a client that did not ask on this request', tested],
  ['C-058', 'isolation', 'List and read across sessions',
    later('C', 'Only 2025-11-25 has sessions and a list.')],
  ['C-059', 'isolation', 'Guessable ids', tested],
  ['C-060', 'isolation', 'Listing on a server without authentication',
    later('C', 'Only 2025-11-25 has a list.')],
  ['C-061', 'isolation', 'Scope so narrow that the owner is locked out',
    later('C', 'Only 2025-11-25 has sessions and a list.')],
  ['C-062', 'context', 'Services disposed before the task body runs',
    partly('B', 'A resume by a second process on the same store has to show it too.')],
  ['C-063', 'context', 'Background run sees the parent server',
    later('F', 'The gateway is what composes servers.')],
  ['C-070', 'input flow', 'Prompt never delivered because nobody asked',
    later('C', 'Only 2025-11-25 sends prompts on the result call.')],
  ['C-071', 'input flow', 'Prompt dropped by the host, call hangs',
    later('C', 'What a host does with prompts comes with the hosts of today.')],
  ['C-072', 'input flow', 'Human thinking time counted as work time', tested],
  ['C-073', 'input flow', 'Cancelled task leaves its dialog open',
    later('E', 'The dialogs are those of a client of ours.')],
  ['C-074', 'input flow', 'Duplicate, partial and stale answers',
    partly('E', 'That a person is asked once per key is up to a client of ours.')],
];

export const cases: readonly FailureCase[] = rows.map(([id, kind, title, standing]) => {
  const cited: Record<string, string[]> = citations;
  return { id, kind, title, status: standing.state === 'later' ? standing : { ...standing, tests: cited[id] ?? [] } };
});

function partly(issue: Issue, reason: string): Standing {
  return { state: 'partly', issue, reason };
}

function later(issue: Issue, reason: string): Standing {
  return { state: 'later', issue, reason };
}

function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `C-${String(from + index).padStart(3, '0')}`);
}
