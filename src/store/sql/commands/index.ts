export { create } from './create.ts';
export { cancel, finish, recover, sweep } from './end.ts';
export { answer, ask } from './input.ts';
export { history, lostLeases, openQuestions, pulses, readLog, readRecord } from './read.ts';
export { appendLog, claim, recordStep, release, renew, report } from './work.ts';
