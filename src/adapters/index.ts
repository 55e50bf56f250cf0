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
export type { ShellCommand, ShellLimits, ShellToolOptions } from './shell/options.ts';
export { shellTool } from './shell/shell-tool.ts';
