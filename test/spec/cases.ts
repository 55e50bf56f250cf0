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

type Kind = keyof typeof caseKinds;
type Standing =
  | { state: 'tested' }
  | { state: 'partly'; issue: Issue; reason: string }
  | { state: 'later'; issue: Issue; reason: string };
type Row = readonly [id: string, kind: Kind, title: string, standing: Standing];

/** How many cases each kind has, in the order of their numbers. */
export const caseKinds = {
  'wire-shape': numbers(1, 12),
  negotiation: numbers(13, 17),
  'lifecycle race': numbers(18, 29),
  durability: numbers(30, 40),
  exclusivity: numbers(41, 50),
  'leak/GC': numbers(51, 57),
  isolation: numbers(58, 61),
  context: numbers(62, 63),
  polling: numbers(64, 69),
  'input flow': numbers(70, 74),
  notifications: numbers(75, 77),
  payload: numbers(78, 81),
  proxy: numbers(82, 85),
  transport: numbers(86, 88),
  timeouts: numbers(89, 95),
  'ids/idempotency': numbers(96, 101),
  'process supervision': numbers(102, 107),
  'agent behaviour': numbers(108, 114),
};

const tested: Standing = { state: 'tested' };

// biome-ignore format: two lines a case read like the table they are.
const rows: readonly Row[] = [
  ['C-001', 'wire-shape', 'Payload of a failed task thrown away', tested],
  ['C-002', 'wire-shape', 'Server hides errors under completed', tested],
  ['C-003', 'wire-shape', 'Flat and nested task handles confused', tested],
  ['C-004', 'wire-shape', 'Validator rejects a legal task answer', tested],
  ['C-005', 'wire-shape', 'Schema check hides an error payload', tested],
  ['C-006', 'wire-shape', 'Related-task metadata missing or in the wrong place', tested],
  ['C-007', 'wire-shape', 'Peer omits required task fields', tested],
  ['C-008', 'wire-shape', 'Timestamps invented at read time', tested],
  ['C-009', 'wire-shape', 'Replayed answer is not a legal result', tested],
  ['C-010', 'wire-shape', 'Unknown id reported as working', tested],
  ['C-011', 'wire-shape', 'Server fault blamed on the client', tested],
  ['C-012', 'wire-shape', 'Routing header not checked against the body', tested],
  ['C-013', 'negotiation', 'Capability object one level too shallow', tested],
  ['C-014', 'negotiation', 'Extension methods from a client that never opted in', tested],
  ['C-015', 'negotiation', 'Task-only tool unreachable from an ordinary client', tested],
  ['C-016', 'negotiation', 'Two error codes for call-me-as-a-task', tested],
  ['C-017', 'negotiation', 'Handle sent to a client that did not ask on this request', tested],
  ['C-018', 'lifecycle race', 'Cancel changes the row, not the work', tested],
  ['C-019', 'lifecycle race', 'Lifetime ends but the work does not', tested],
  ['C-020', 'lifecycle race', 'Healthy long task evicted mid-run', tested],
  ['C-021', 'lifecycle race', 'Terminal state overwritten by a late cancel', tested],
  ['C-022', 'lifecycle race', 'Finishing crashes when a cancel slipped in', tested],
  ['C-023', 'lifecycle race', 'Fast finish missed between snapshot and subscription', tested],
  ['C-024', 'lifecycle race', 'Expiry honoured by one method only', tested],
  ['C-025', 'lifecycle race', 'Late completion resurrects a dead task', tested],
  ['C-026', 'lifecycle race', 'Status and message written in two steps', tested],
  ['C-027', 'lifecycle race', "A user's cancel is logged as an outage", tested],
  ['C-028', 'lifecycle race', 'Cancel call blocks until the body returns', tested],
  ['C-029', 'lifecycle race', 'Cancel reply shows the state from before', tested],
  ['C-030', 'durability', 'Restart plus new session makes tasks vanish', tested],
  ['C-031', 'durability', 'Stored arguments expire before the task does', tested],
  ['C-032', 'durability', 'Running for ever after a deploy', tested],
  ['C-033', 'durability', 'Success answered although nothing was stored', tested],
  ['C-034', 'durability', 'Write-ahead log fills the drive', tested],
  ['C-035', 'durability', 'Reader pool starves the checkpoint', tested],
  ['C-036', 'durability', 'Busy database under many processes', tested],
  ['C-037', 'durability', 'Database on a synced or network folder', tested],
  ['C-038', 'durability', 'Row says scheduled, nobody has it', tested],
  ['C-039', 'durability', 'Finished result never delivered after a host restart',
    tested],
  ['C-040', 'durability', 'Server unreachable in mid-job', tested],
  ['C-041', 'exclusivity', 'Stalled owner and new owner both finish', tested],
  ['C-042', 'exclusivity', 'Event loop blocked longer than the lease', tested],
  ['C-043', 'exclusivity', 'Long job redelivered by visibility timeout', tested],
  ['C-044', 'exclusivity', 'Crashed job stays locked for hours', tested],
  ['C-045', 'exclusivity', 'Replica clock ahead steals a live lease',
    later('later', 'Replicas with clocks of their own need a store for many machines.')],
  ['C-046', 'exclusivity', 'Clock behind delays take-over, backward step shortens a lease', tested],
  ['C-047', 'exclusivity', 'A crash is not counted as an attempt', tested],
  ['C-048', 'exclusivity', 'Recovery repeats work already done', tested],
  ['C-049', 'exclusivity', 'Notification connection dropped and never renewed',
    later('later', 'It is about Postgres, which comes with the store for many machines.')],
  ['C-050', 'exclusivity', 'Pooler eats notifications',
    later('later', 'It is about Postgres, which comes with the store for many machines.')],
  ['C-051', 'leak/GC', 'Ownership map and message queues outlive tasks', tested],
  ['C-052', 'leak/GC', 'Two timers per task for the whole lifetime', tested],
  ['C-053', 'leak/GC', 'Rejected call leaves a zombie task', tested],
  ['C-054', 'leak/GC', 'Sessions that never say goodbye', tested],
  ['C-055', 'leak/GC', 'Keys without expiry fill the store', tested],
  ['C-056', 'leak/GC', 'Reader disconnects during a blocked result', tested],
  ['C-057', 'leak/GC', 'Unlimited lifetime requested but capped silently', tested],
  ['C-058', 'isolation', 'List and read across sessions', tested],
  ['C-059', 'isolation', 'Guessable ids', tested],
  ['C-060', 'isolation', 'Listing on a server without authentication', tested],
  ['C-061', 'isolation', 'Scope so narrow that the owner is locked out', tested],
  ['C-062', 'context', 'Services disposed before the task body runs', tested],
  ['C-063', 'context', 'Background run sees the parent server', tested],
  ['C-064', 'polling', 'Keeps fetching after the result is in', tested],
  ['C-065', 'polling', 'Interval ignored', tested],
  ['C-066', 'polling', 'Absurd intervals', tested],
  ['C-067', 'polling', 'Local cancel does not stop the poller', tested],
  ['C-068', 'polling', 'Waiting freezes everything else', tested],
  ['C-069', 'polling', 'Wait never returns for a wedged tool', tested],
  ['C-070', 'input flow', 'Prompt never delivered because nobody asked', tested],
  ['C-071', 'input flow', 'Prompt dropped by the host, call hangs', tested],
  ['C-072', 'input flow', 'Human thinking time counted as work time', tested],
  ['C-073', 'input flow', 'Cancelled task leaves its dialog open',
    tested],
  ['C-074', 'input flow', 'Duplicate, partial and stale answers',
    tested],
  ['C-075', 'notifications', 'No token, so no progress', tested],
  ['C-076', 'notifications', 'Broken progress channel fails the task', tested],
  ['C-077', 'notifications', 'Status text polled but not shown', tested],
  ['C-078', 'payload', 'NUL byte in a result blocks completion', tested],
  ['C-079', 'payload', '64-bit integers rounded', tested],
  ['C-080', 'payload', 'Log of several megabytes into the context', tested],
  ['C-081', 'payload', 'Tail of the output lost at exit', tested],
  ['C-082', 'proxy', 'Tasks cannot cross the proxy', tested],
  ['C-083', 'proxy', 'Same task id from two backends', tested],
  ['C-084', 'proxy', 'Gateway promises what it does not forward', tested],
  ['C-085', 'proxy', 'Request ids of two layers collide', tested],
  ['C-086', 'transport', 'Second node does not know the session', tested],
  ['C-087', 'transport', 'Resume token forgotten after a second drop', tested],
  ['C-088', 'transport', 'Evicted session answered 404', tested],
  ['C-089', 'timeouts', 'Progress does not extend the deadline', tested],
  ['C-090', 'timeouts', 'Host gives up before the wait tool answers', tested],
  ['C-091', 'timeouts', 'Silent failure after one minute in a hosted agent', tested],
  ['C-092', 'timeouts', 'Proxy cuts a quiet stream', tested],
  ['C-093', 'timeouts', 'Client limit does not bound the polling loop', tested],
  ['C-094', 'timeouts', 'Run limit applies in the foreground only', tested],
  ['C-095', 'timeouts', 'Idle watchdog kills a quiet child', tested],
  ['C-096', 'ids/idempotency', 'Time-out read as failure, so created twice', tested],
  ['C-097', 'ids/idempotency', 'Key accepted and ignored', tested],
  ['C-098', 'ids/idempotency', 'Same key, other arguments', tested],
  ['C-099', 'ids/idempotency', 'Timed out before any id was seen', tested],
  ['C-100', 'ids/idempotency', 'Wrong CI run adopted', tested],
  ['C-101', 'ids/idempotency', 'Reading the result consumes it', tested],
  ['C-102', 'process supervision', 'Launcher killed, real process lives on', tested],
  ['C-103', 'process supervision', 'Signal sent to a recycled pid', tested],
  ['C-104', 'process supervision', 'Child inherits the protocol pipes', tested],
  ['C-105', 'process supervision', 'Unread stderr pipe deadlocks the child', tested],
  ['C-106', 'process supervision', 'Server outlives its host', tested],
  ['C-107', 'process supervision', 'Stop leaves rows active', tested],
  ['C-108', 'agent behaviour', 'Advice to wait is ignored', tested],
  ['C-109', 'agent behaviour', '41 turns for 13 changes', tested],
  ['C-110', 'agent behaviour', 'Wait capped at 50 s multiplies the bill', tested],
  ['C-111', 'agent behaviour', 'Everything async, even instant calls', tested],
  ['C-112', 'agent behaviour', 'Id taken for the outcome', tested],
  ['C-113', 'agent behaviour', 'Made-up or stale ids', tested],
  ['C-114', 'agent behaviour', 'No status tool found, agent improvises', tested],
];

export const cases: readonly FailureCase[] = rows.map(([id, kind, title, standing]) => {
  const cited: Record<string, string[]> = citations;
  return { id, kind, title, status: standing.state === 'later' ? standing : { ...standing, tests: cited[id] ?? [] } };
});

function later(issue: Issue, reason: string): Standing {
  return { state: 'later', issue, reason };
}

function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `C-${String(from + index).padStart(3, '0')}`);
}
