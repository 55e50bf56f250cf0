export { type McpToolOptions, mcpTool } from './mcp/mcp-tool.ts';
export type { ShellCommand, ShellLimits, ShellToolOptions } from './shell/options.ts';
export { shellTool } from './shell/shell-tool.ts';
