export { declaredCapabilities } from './capabilities.ts';
export { type Decoded, decodeAnswers, decodeTaskId, earlierRounds, keepResponses } from './decode.ts';
export { encodeAck, encodeHandle, encodeTask, immediateAnswer, plainResult } from './encode.ts';
export { encodeError, internalError, invalidParams, missingTasksCapability } from './errors.ts';
export { METHODS, REVISION, TASKS_EXTENSION } from './names.ts';
