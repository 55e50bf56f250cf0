export { type CallerAuth, type PrincipalOf, UnidentifiedCallerError } from '../principal.ts';
export { type AttachTasksOptions, attachTasks } from './attach-tasks.ts';
export { type MessageQueueOptions, taskMessageQueue } from './message-queue.ts';
export { type OwnTasksOptions, ownTasks } from './origins.ts';
export { type DurableTaskStore, type DurableTaskStoreOptions, durableTaskStore } from './task-store.ts';
