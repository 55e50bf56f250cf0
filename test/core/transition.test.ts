import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type InputRequests,
  isTerminal,
  type JsonObject,
  TASK_STATUSES,
  type TaskEvent,
  type TaskState,
  type TerminalState,
  transition,
} from '../../src/core/index.ts';

const questions: fc.Arbitrary<InputRequests> = fc.dictionary(
  fc.stringMatching(/^[a-z]{1,8}$/),
  fc.record({ kind: fc.constant('form' as const), message: fc.string(), schema: fc.constant({ type: 'object' }) }),
  { maxKeys: 3, noNullPrototype: true },
);
const outcomes: fc.Arbitrary<TerminalState> = fc.oneof(
  fc.record({ status: fc.constant('completed' as const), result: fc.constant<JsonObject>({ content: [] }) }),
  fc.record({ status: fc.constant('failed' as const), error: fc.record({ code: fc.integer(), message: fc.string() }) }),
  fc.record({ status: fc.constant('cancelled' as const) }),
);
const events: fc.Arbitrary<TaskEvent> = fc.oneof(
  fc.record({ type: fc.constant('finished' as const), outcome: outcomes }),
  fc.record({ type: fc.constant('input_requested' as const), inputRequests: questions }),
  fc.record({ type: fc.constant('input_received' as const), remaining: questions }),
);
const WORKING: TaskState = { status: 'working' };

function stateAfter(history: readonly TaskEvent[]): TaskState {
  return history.reduce<TaskState>((state, event) => {
    const next = transition(state, event);
    return next.ok ? next.state : state;
  }, WORKING);
}

describe('transition', () => {
  it('is total: every event has an answer in every state', () => {
    fc.assert(
      fc.property(fc.array(events, { maxLength: 12 }), events, (history, event) => {
        const next = transition(stateAfter(history), event);
        expect(
          next.ok ? TASK_STATUSES.includes(next.state.status) : ['terminal', 'not_waiting'].includes(next.refusal),
        ).toBe(true);
      }),
    );
  });

  it('lets nothing leave a terminal state: P2', () => {
    fc.assert(
      fc.property(outcomes, fc.array(events, { minLength: 1, maxLength: 12 }), (outcome, history) => {
        const ended: TaskState = stateAfter([{ type: 'finished', outcome }]);
        for (const event of history) expect(transition(ended, event)).toEqual({ ok: false, refusal: 'terminal' });
      }),
    );
  });

  it('reaches every status', () => {
    const reached = new Set<string>(['working']);
    fc.assert(
      fc.property(fc.array(events, { maxLength: 6 }), (history) => {
        reached.add(stateAfter(history).status);
      }),
      { numRuns: 500 },
    );
    expect([...reached].sort()).toEqual([...TASK_STATUSES].sort());
  });

  it('waits until the last answer is in', () => {
    const question = { kind: 'form', message: 'size?', schema: { type: 'object' } } as const;
    const asked = stateAfter([{ type: 'input_requested', inputRequests: { a: question, b: question } }]);
    expect(asked.status).toBe('input_required');
    const partly = transition(asked, { type: 'input_received', remaining: { b: question } });
    expect(partly).toEqual({ ok: true, state: { status: 'input_required', inputRequests: { b: question } } });
    const wholly = transition(asked, { type: 'input_received', remaining: {} });
    expect(wholly).toEqual({ ok: true, state: { status: 'working' } });
  });

  it('does not take an answer nobody asked for', () => {
    expect(transition(WORKING, { type: 'input_received', remaining: {} })).toEqual({
      ok: false,
      refusal: 'not_waiting',
    });
  });

  it('keeps an outcome as it is', () => {
    fc.assert(
      fc.property(outcomes, (outcome) => {
        const ended = stateAfter([{ type: 'finished', outcome }]);
        expect(isTerminal(ended)).toBe(true);
        expect(ended).toBe(outcome);
      }),
    );
  });
});
