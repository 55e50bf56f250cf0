export { type Decoded, decodeTaskId } from '../decoded.ts';
export {
  type DeclaredCapabilities,
  declaredCapabilities,
  mayList,
  type TaskSupport,
  type TasksCapability,
  tasksCapability,
  toolExecution,
} from './capabilities.ts';
export { decodeCursor, encodeCursor } from './cursor.ts';
export { decodeTask, keepTask, keptTask, type TaskWish } from './decode.ts';
export {
  type EncodeOptions,
  encodeHandle,
  encodeList,
  encodePayload,
  encodeProgressNotification,
  encodeStatusNotification,
  encodeTask,
  encodeTaskForLaterRevision,
  type HandleOptions,
  type Outgoing,
  relatedTask,
  statusOf,
} from './encode.ts';
export { encodeError, internalError, invalidParams, methodNotFound, notCancellable } from './errors.ts';
export { METHODS, RELATED_TASK_META_KEY, REVISION } from './names.ts';
export { forVersion } from './outgoing.ts';
export { keepToken, keptToken } from './progress-token.ts';
export {
  type Asked,
  type DecodedAnswer,
  decodeAnswer,
  decodeQuestionId,
  encodeQuestion,
  encodeQuestionId,
} from './questions.ts';
export { plainResult } from './result.ts';
export { decodeSession, encodeInitialize, encodeSession, readClient, readInitialize, type Session } from './session.ts';
