import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CallEvent,
  type CallState,
  callTransition,
  nextStep,
  type OpenCall,
} from '../../src/client/call-state.ts';
import { aRemoteTask } from './scripted-remote.ts';

const statuses = ['working', 'input_required', 'completed', 'failed', 'cancelled', 'unheard_of'] as const;
const tasks = fc
  .record({ status: fc.constantFrom(...statuses), updatedAt: fc.option(fc.nat(5), { nil: undefined }) })
  .map(({ status, updatedAt }) => aRemoteTask({ status, ...(updatedAt !== undefined && { updatedAt }) }));
const events: fc.Arbitrary<CallEvent> = fc.oneof(
  fc.constant<CallEvent>({ type: 'sending' }),
  fc.constant<CallEvent>({ type: 'unsent' }),
  tasks.map((task): CallEvent => ({ type: 'handled', task, at: 1_000 })),
  tasks.map((task): CallEvent => ({ type: 'observed', task, at: 2_000 })),
  fc.nat(9_000).map((at): CallEvent => ({ type: 'polling', at })),
  fc.constant<CallEvent>({ type: 'ended', end: { kind: 'cancelled' } }),
);
const circumstances = { repeatable: true, fresh: false, cancelRequested: false, giveUpAt: 100, now: 0 };
const following = (status: (typeof statuses)[number]): OpenCall => ({
  phase: 'following',
  task: { taskId: 'task-1', handledAt: 0, newsAt: 0, status },
});

describe('where a call stands', () => {
  it('never changes after its end, keeps its handle, and is never sent with one, whatever happens', () => {
    fc.assert(
      fc.property(fc.array(events, { maxLength: 30 }), (happened) => {
        let state: CallState = { phase: 'intended' };
        for (const event of happened) {
          const went = callTransition(state, event);
          if (!went.ok) continue;
          const before: CallState = state;
          state = went.state;
          expect(before.phase).not.toBe('ended');
          if (before.phase !== 'following') continue;
          expect(['following', 'ended']).toContain(state.phase);
          if (state.phase !== 'following') continue;
          expect(state.task.handledAt).toBe(before.task.handledAt);
          const wasOver = ['completed', 'failed', 'cancelled'].includes(before.task.status);
          if (wasOver) expect(['completed', 'failed', 'cancelled']).toContain(state.task.status);
        }
      }),
    );
  });

  it.each([
    ['sent by this run just now', { phase: 'sent' }, { fresh: true, repeatable: false }, 'send'],
    ['found as sent, keys are honoured', { phase: 'sent' }, {}, 'send'],
    ['found as sent, no keys', { phase: 'sent' }, { repeatable: false }, 'unknown'],
    ['found as sent and to be cancelled', { phase: 'sent' }, { cancelRequested: true }, 'unknown'],
    ['found as sent, too late', { phase: 'sent' }, { now: 100 }, 'unknown'],
    ['about to be sent and to be cancelled', { phase: 'sent' }, { fresh: true, cancelRequested: true }, 'cancelled'],
    ['never sent', { phase: 'intended' }, { repeatable: false }, 'send'],
    ['never sent and to be cancelled', { phase: 'intended' }, { cancelRequested: true }, 'cancelled'],
    ['never sent, too late', { phase: 'intended' }, { now: 100 }, 'expired'],
    ['followed', following('working'), {}, 'poll'],
    ['followed, a status of no text', following('unheard_of'), {}, 'poll'],
    ['followed and to be cancelled', following('input_required'), { cancelRequested: true }, 'cancel'],
    ['over', following('completed'), { cancelRequested: true }, 'fetch'],
    ['over by a cancel', following('cancelled'), {}, 'cancelled'],
  ] as const)('says what is next where a call is %s', (_, state, how, expected) => {
    const step = nextStep(state as OpenCall, { ...circumstances, ...how });
    expect(step.do === 'end' ? step.end.kind : step.do).toBe(expected);
  });
});
