export { httpTool } from './http/http-tool.ts';
export type {
  BodyTemplate,
  HttpCancelOptions,
  HttpFindOptions,
  HttpIdempotency,
  HttpRequestOptions,
  HttpStartOptions,
  HttpStatusOptions,
  HttpToolOptions,
  HttpWebhookOptions,
  JsonPath,
  Placed,
  ResultSource,
  UrlSource,
  UrlTemplate,
} from './http/options.ts';
export type { HttpRef } from './http/ref.ts';
export { type McpToolOptions, mcpTool } from './mcp/mcp-tool.ts';
export { commandOf } from './shell/input/command-of.ts';
export { InputError } from './shell/input/input-error.ts';
export type { CommandRecipe, FlagPart, InputPart, OptionPart, PositionalPart, WordPart } from './shell/input/recipe.ts';
export type { ShellCommand, ShellLimits, ShellToolOptions } from './shell/options.ts';
export { shellTool } from './shell/shell-tool.ts';
