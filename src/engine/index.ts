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
export type { JobTaskOptions, JobToolConfig } from './jobs/define-job.ts';
export { type JobOptions, runJob } from './jobs/run-job.ts';
export type { PromptConfig, PromptHandler, PromptResult, RegisteredTaskPrompt } from './prompts.ts';
export type { ReadHandler, ReadResult, RegisteredTaskResource, ResourceConfig, ResourceRequest } from './resources.ts';
export { stopOnSignals } from './signals.ts';
export { checkFallback, type FallbackOptions, type TaskOptions } from './task-options.ts';
export { createTasks, Tasks, type TasksOptions } from './tasks.ts';
export {
  type ContentBlock,
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
