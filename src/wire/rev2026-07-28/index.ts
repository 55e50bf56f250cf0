export { type DeclaredCapabilities, declaredCapabilities } from './capabilities.ts';
export { type Decoded, decodeAnswers, decodeTaskId } from './decode.ts';
export { encodeAck, encodeHandle, encodeInlinedResult, encodeTask, progressText } from './encode.ts';
export { encodeError, invalidParams, missingTasksCapability } from './errors.ts';
export { METHODS, REVISION, TASKS_EXTENSION } from './names.ts';
