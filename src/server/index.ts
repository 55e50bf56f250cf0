export { createTaskHandler, type TaskHandlerOptions, type TaskServerFactory } from './handler.ts';
export { ListenError, type Listening, type ListenOptions } from './listen.ts';
export { type CallerAuth, type PrincipalOf, UnidentifiedCallerError } from './principal.ts';
export type { ServingOptions } from './serving.ts';
export { type StdioTaskServer, serveTaskStdio } from './stdio.ts';
export { createTaskServer, type TaskServer, type TaskServerOptions } from './task-server.ts';
