export type {
  AskContent,
  AskOptions,
  AskResult,
  AskUrlOptions,
  LogLevel,
  Root,
  SampledMessage,
  StepContext,
  TaskContext,
} from './context.ts';
export type { CreatedTask } from './engine.ts';
export { Inspector, type LogReadOptions, type OperatorAction } from './inspector.ts';
export { stopOnSignals } from './signals.ts';
export { createTasks, Tasks, type TasksOptions } from './tasks.ts';
export {
  type ContentBlock,
  checkFallback,
  type FallbackOptions,
  type Prepared,
  type PrepareRequest,
  type RegisteredTaskTool,
  type ToolAnnotations,
  type ToolConfig,
  type ToolHandler,
  type ToolResult,
  type ToolTaskOptions,
  text,
} from './tools.ts';
