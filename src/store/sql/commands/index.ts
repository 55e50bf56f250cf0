export { create } from './create.ts';
export { cancel, cancelOrphan, finish, recover } from './end.ts';
export { due, eraseDue, eraseTask, expire } from './erase.ts';
export { answer, ask, expireQuestion, withdrawQuestion } from './input.ts';
export { countTasks, findIds, inspectTask, listTasks, payloads, timeline } from './inspect.ts';
export { appendLog, readLog } from './log.ts';
export { cancelTasks, hide, requeue } from './operate.ts';
export {
  findByRequestorId,
  history,
  leaseOwners,
  lostLeases,
  openQuestions,
  pastAttempts,
  pulses,
  readRecord,
} from './read.ts';
export { rekeyRows, staleRows, type WalkedName } from './rekey.ts';
export { secret } from './secret.ts';
export { FIRST_TURN, type Turn, take } from './take.ts';
export { claim, note, recordStep, release, renew, report, type Unclaimed, wake } from './work.ts';
