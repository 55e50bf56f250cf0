export { type ConnectOptions, connectRemote, type RemoteOptions } from './connect-remote.ts';
export type {
  OnQuestion,
  Outcome,
  Remote,
  RemoteRevision,
  RemoteStatus,
  RemoteTask,
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
export type { Whereabouts } from './transports.ts';
