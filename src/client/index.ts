export type { TaskLogLine, TaskLogPage } from '../wire/task-log.ts';
export type { AgentNotice, BackgroundCall } from './agents/agent-calls.ts';
export {
  type AgentTool,
  type AgentTools,
  type AgentToolsOptions,
  asAgentTools,
} from './agents/agent-tools.ts';
export type { AgentReply } from './agents/reply.ts';
export type { AgentImage } from './agents/words.ts';
export type { Call } from './call.ts';
export type { CallLogOptions, CallUpdate } from './call-log.ts';
export type { CallEnd } from './call-state.ts';
export { type ChildOptions, callTool } from './children/children.ts';
export {
  type ConnectTarget,
  type ListCallsOptions,
  openTaskClient,
  type Resumed,
  type TaskClient,
  type TaskClientOptions,
} from './client.ts';
export { type ConnectOptions, connectRemote, type RemoteOptions } from './connect-remote.ts';
export type { CallOptions, ConnectedServer, ToolCall } from './connected-server.ts';
export {
  CallAmbiguousError,
  CallAnswerInvalidError,
  CallCancelledError,
  CallDetachedError,
  CallError,
  type CallErrorCode,
  CallExpiredError,
  CallFailedError,
  CallLogUnavailableError,
  CallLostError,
  CallNotFoundError,
  CallOpenError,
  CallRefusedError,
  CallUnknownError,
  ClientClosedError,
} from './errors.ts';
export {
  type ExtTasksAnswer,
  type ExtTasksDispatch,
  type ExtTasksOptions,
  type ExtTasksParts,
  forExtTasks,
} from './ext-tasks.ts';
export type { CallGroup, GroupEnd, ResultsOptions } from './groups/group.ts';
export type { GroupedCall, GroupOptions } from './groups/group-calls.ts';
export type { GroupProgress } from './groups/group-progress.ts';
export type { RaceWon } from './groups/race.ts';
export type { Completion } from './inbox.ts';
export type {
  AskedBy,
  OnQuestion,
  Outcome,
  Remote,
  RemoteRevision,
  RemoteStatus,
  RemoteTask,
  RemoteTool,
  Started,
  StartRequest,
} from './remote.ts';
export {
  RemoteError,
  type RemoteErrorCode,
  RemoteGoneError,
  RemoteProtocolError,
  RemoteRefusedError,
  RemoteUnreachableError,
} from './remote-errors.ts';
export type { CallSnapshot } from './snapshot.ts';
export type { Whereabouts } from './transports.ts';
