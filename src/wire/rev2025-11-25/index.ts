export { decodeTaskId } from '../decoded.ts';
export { encodeError, internalError, invalidParams } from '../errors.ts';
export {
  declaredCapabilities,
  mayList,
  offeredTo,
  type TaskSupport,
  type TasksCapability,
  tasksCapability,
  toolExecution,
} from './capabilities.ts';
export { decodeCursor, encodeCursor } from './cursor.ts';
export { decodeTask, keepArguments, keepTask, keptArguments, keptTask } from './decode.ts';
export {
  type EncodeOptions,
  encodeHandle,
  encodeList,
  encodePayload,
  encodeProgressNotification,
  encodeResourceUpdated,
  encodeStatusNotification,
  encodeTask,
  encodeTaskForLaterRevision,
  statusOf,
} from './encode.ts';
export { methodNotFound, notCancellable } from './errors.ts';
export { METHODS, REVISION, STATUS_NOTIFICATION } from './names.ts';
export { forVersion, withTasksOffered } from './outgoing.ts';
export { keepToken, keptToken } from './progress-token.ts';
export {
  type Asked,
  decodeAnswer,
  decodeQuestionId,
  encodeAsked,
  encodeQuestion,
  encodeQuestionId,
} from './questions.ts';
export { plainResult } from './result.ts';
export {
  agreedVersion,
  decodeSession,
  encodeInitialize,
  encodeSession,
  readClient,
  readInitialize,
  type Session,
  sessionless,
} from './session.ts';
export { outputSchemaOf, withObjectContent } from './tool-schemas.ts';
