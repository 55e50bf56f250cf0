export { type McpToolOptions, mcpTool } from './mcp/mcp-tool.ts';
