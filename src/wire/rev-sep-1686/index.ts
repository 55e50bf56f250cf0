export { decodeTaskId } from '../decoded.ts';
export { invalidParams } from '../errors.ts';
export { samplesAsTask, tasksCapability } from './capabilities.ts';
export { decodeTask, type TaskWish } from './decode.ts';
export {
  encodeAnswer,
  encodeCreated,
  encodeDeleted,
  encodeList,
  encodePayload,
  encodeProgress,
  encodeTask,
} from './encode.ts';
export { METHODS, REVISION } from './names.ts';
export { type Offer, withOffer } from './outgoing.ts';
export { encodeQuestion } from './questions.ts';
export { keepTaskId, taskIdOf } from './task-id.ts';
