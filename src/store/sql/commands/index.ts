export { create } from './create.ts';
export { cancel, cancelOrphan, finish, recover, sweep } from './end.ts';
export { answer, ask, expireQuestion } from './input.ts';
export { countTasks, findIds, inspectTask, listTasks, payloads, timeline } from './inspect.ts';
export { appendLog, readLog } from './log.ts';
export { cancelTasks, deleteLogPiece, deleteTask, hide, requeue } from './operate.ts';
export { history, leaseOwners, lostLeases, openQuestions, pastAttempts, pulses, readRecord } from './read.ts';
export { FIRST_TURN, type Turn, take } from './take.ts';
export { claim, note, recordStep, release, renew, report } from './work.ts';
