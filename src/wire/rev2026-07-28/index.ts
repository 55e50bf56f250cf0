export { decodeTaskId } from '../decoded.ts';
export { encodeError, internalError, invalidParams } from '../errors.ts';
export { declaredCapabilities } from './capabilities.ts';
export { decodeAnswers, decodeResponses, earlierRounds, keepResponses, type RoundCarrier } from './decode.ts';
export { encodeAck, encodeHandle, encodeInlinedResult, encodeTask, immediateAnswer, plainResult } from './encode.ts';
export { missingTasksCapability } from './errors.ts';
export {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  isTaskMethod,
  LISTEN_METHOD,
  METHODS,
  REVISION,
  TASKS_EXTENSION,
  TRACEPARENT_META_KEY,
} from './names.ts';
export { decodeRelatedTaskIds, encodeRelated } from './related.ts';
export { decodeRound, encodeInputRequired, hasRound, keepRound } from './rounds.ts';
export {
  cancelledRequest,
  decodeTaskIds,
  encodeCancelRequest,
  encodeListenCancelled,
  encodeListenResult,
  encodeResourceUpdated,
  encodeTaskPush,
  grantedBy,
  isListenRequest,
  type Listen,
  type ListenId,
  listenedTo,
  readListen,
  serverInfoOf,
  subscriptionOf,
  withoutFilter,
  withTasksGranted,
} from './subscriptions.ts';
