import { LOCAL_PRINCIPAL, type NewTask, newTaskId, systemRandom } from '../core/index.ts';

/** A new task with everything a store asks for; `overrides` say what the test is about. */
export function aTask(overrides: Partial<NewTask> = {}): NewTask {
  return {
    taskId: newTaskId(systemRandom),
    principal: LOCAL_PRINCIPAL,
    method: 'tools/call',
    name: 'transcode',
    input: { file: 'a.mp4' },
    ttlMs: 3_600_000,
    keepResultMs: 60_000,
    maxAttempts: 3,
    onWorkerLost: 'auto',
    revision: '2026-07-28',
    abilities: { form: true },
    ...overrides,
  };
}
