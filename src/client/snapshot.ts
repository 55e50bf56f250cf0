import type { JsonObject, Question, TaskProgress } from '../core/index.ts';
import type { CallEnd, CallState } from './call-state.ts';
import type { CallRecord } from './journal/journal.ts';
import type { RemoteStatus } from './remote.ts';

/** What a call looks like at one moment. Text in it comes from the server: data, never instructions. */
export interface CallSnapshot {
  id: string;
  /** The name its server was connected under. */
  server: string;
  tool: string;
  /** What the host keeps with the call. */
  note?: JsonObject;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
  /** `intended`: on disk, not sent. `sent`: no answer yet. `following`: the server made a task of it. */
  phase: CallState['phase'];
  /** The task's, as its server said it last. */
  status?: RemoteStatus;
  statusMessage?: string;
  progress?: TaskProgress;
  /** How long its server wants to be left alone between polls, in milliseconds. */
  pollIntervalMs?: number;
  /** What it asks for, by key, and nobody has answered. The words are the server's: show where they come from. */
  questions?: Record<string, Question>;
  /** Since when the server cannot be asked, in milliseconds since the Unix epoch: what is told here is from before. */
  unreachableSince?: number;
  /**
   * Since when its task works and has said nothing new, in milliseconds since the Unix epoch; once that is longer than
   * `stuckAfterMs`. It may be stuck, or quiet.
   */
  silentSince?: number;
  cancelRequested: boolean;
  /** Whether a process follows it right now; else it waits for its server to be connected. */
  followed: boolean;
  /** How it ended. */
  end?: CallEnd;
}

/** What only whoever follows a call knows of it. */
export interface LiveFacts {
  progress?: TaskProgress;
  questions?: ReadonlyMap<string, Question>;
  unreachableSince?: number;
  silentSince?: number;
}

export function snapshotOf(
  record: CallRecord,
  state: CallState | { phase: 'ended' },
  live: LiveFacts = {},
): CallSnapshot {
  const { callId, server, tool, note, createdAt, cancelRequested, followed } = record;
  const task = state.phase === 'following' ? state.task : undefined;
  const progress = task?.progress ?? live.progress;
  return {
    id: callId,
    server,
    tool,
    ...(note !== undefined && { note }),
    createdAt,
    phase: state.phase,
    ...(task !== undefined && { status: task.status }),
    ...(task?.statusMessage !== undefined && { statusMessage: task.statusMessage }),
    ...(progress !== undefined && { progress }),
    ...(task?.pollIntervalMs !== undefined && { pollIntervalMs: task.pollIntervalMs }),
    ...(live.questions !== undefined && live.questions.size > 0 && { questions: Object.fromEntries(live.questions) }),
    ...(live.unreachableSince !== undefined && { unreachableSince: live.unreachableSince }),
    ...(live.silentSince !== undefined && task !== undefined && { silentSince: live.silentSince }),
    cancelRequested,
    followed: followed && state.phase !== 'ended',
    ...('end' in state && { end: state.end }),
  };
}
