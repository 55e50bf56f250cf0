export { decodeTaskId } from '../decoded.ts';
export { samplesAsTask, tasksCapability } from './capabilities.ts';
export { askResult, askStatus, askToDelete, createdTask, readStatus } from './client-tasks.ts';
export { decodeTask } from './decode.ts';
export {
  encodeAnswer,
  encodeCreated,
  encodeDeleted,
  encodeGone,
  encodeList,
  encodePayload,
  encodeProgress,
  encodeTask,
  relatedTask,
} from './encode.ts';
export { METHODS, REVISION } from './names.ts';
export { type Offer, withOffer } from './outgoing.ts';
export { encodeQuestion } from './questions.ts';
export { keepTaskId, taskIdOf } from './task-id.ts';
