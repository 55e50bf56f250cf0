export { create } from './create.ts';
export { cancel, finish, recover, sweep } from './end.ts';
export { answer, ask, expireQuestion } from './input.ts';
export { history, lostLeases, openQuestions, pastAttempts, pulses, readLog, readRecord } from './read.ts';
export { appendLog, claim, note, recordStep, release, renew, report } from './work.ts';
