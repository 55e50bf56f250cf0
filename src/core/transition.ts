import type { InputRequests } from './question.ts';
import { isTerminal, type TaskState, type TerminalState } from './state.ts';
import { unreachable } from './unreachable.ts';

/**
 * What can happen to a task. `input_requested` carries every question open after it, `input_received` every question
 * still open after it: a partial answer leaves the task waiting for the rest.
 */
export type TaskEvent =
  | { type: 'finished'; outcome: TerminalState }
  | { type: 'input_requested'; inputRequests: InputRequests }
  | { type: 'input_received'; remaining: InputRequests };

export type Transition = { ok: true; state: TaskState } | { ok: false; refusal: 'terminal' | 'not_waiting' };

/**
 * The one place that decides what a task becomes: no clock, no I/O, no throw.
 * @see 2025-11-25 tasks, "Task Status Lifecycle"; SEP-2663, "Task Status"
 */
export function transition(state: TaskState, event: TaskEvent): Transition {
  if (isTerminal(state)) return { ok: false, refusal: 'terminal' }; // Terminal is final in every revision.
  switch (event.type) {
    case 'finished':
      return { ok: true, state: event.outcome };
    case 'input_requested':
      return { ok: true, state: { status: 'input_required', inputRequests: event.inputRequests } };
    case 'input_received':
      if (state.status !== 'input_required') return { ok: false, refusal: 'not_waiting' };
      if (Object.keys(event.remaining).length > 0) {
        return { ok: true, state: { status: 'input_required', inputRequests: event.remaining } };
      }
      return { ok: true, state: { status: 'working' } };
    default:
      return unreachable(event); // A new event fails to compile here.
  }
}
