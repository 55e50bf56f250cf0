/**
 * What happens to a task whose worker died, as its author said it. `auto` is what holds when the author said nothing
 * and the tool is not marked read-only and idempotent: go on if there is something recorded to go on from. `held`: the work
 * is no handler of ours but something its process does beside us, so nobody else could ever run it.
 */
export type WorkerLostRule = 'rerun' | 'resume' | 'fail' | 'auto' | 'held';

export interface ToolHints {
  readOnlyHint?: boolean | undefined;
  idempotentHint?: boolean | undefined;
}

/** The rule of a tool: what the author said, else what MCP's own annotations allow. */
export function workerLostRule(
  said: Exclude<WorkerLostRule, 'auto' | 'held'> | undefined,
  hints: ToolHints,
): WorkerLostRule {
  if (said !== undefined) return said;
  return hints.readOnlyHint === true && hints.idempotentHint === true ? 'rerun' : 'auto';
}

export type RecoveryDecision = { action: 'run_again' } | { action: 'fail'; message: string };

export interface LostRun {
  rule: WorkerLostRule;
  /** Attempts claimed so far, the lost one included. */
  attempt: number;
  maxAttempts: number;
  /** Whether a step or a question has been recorded, i.e. the handler takes part in resuming. */
  hasRecords: boolean;
  /** How it was lost; only for the message. @default 'lost' */
  lost?: 'lost' | 'stopped';
}

/** Decides what becomes of a task whose worker is proven lost. Pure: the store applies it under the lost fence. */
export function recoveryDecision(run: LostRun): RecoveryDecision {
  const mayRunAgain = run.rule === 'rerun' || run.rule === 'resume' || (run.rule === 'auto' && run.hasRecords);
  if (!mayRunAgain) {
    const why = whyNotAgain(run.rule);
    const what = run.lost ?? 'lost';
    return {
      action: 'fail',
      message: `interrupted: the worker was ${what} and the task was not run again, since ${why}`,
    };
  }
  if (run.attempt >= run.maxAttempts) {
    const times = run.attempt === 1 ? 'once' : `${run.attempt} times`;
    return { action: 'fail', message: `interrupted: the worker was lost ${times}; no attempts are left (maxAttempts)` };
  }
  return { action: 'run_again' };
}

/** Only for rules under which a run may not be repeated. */
function whyNotAgain(rule: WorkerLostRule): string {
  switch (rule) {
    case 'fail':
      return "the tool is registered with onWorkerLost 'fail'";
    case 'held':
      return 'its work ended with the process that did it';
    default:
      return "it had recorded no step; register the tool with onWorkerLost 'rerun' or 'resume' if it may run twice";
  }
}
