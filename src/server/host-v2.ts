import { randomUUID } from 'node:crypto';
import {
  type CallToolResult,
  isCallToolResult,
  McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { Recent } from '../core/index.ts';
import { declaredCapabilities, readClient } from '../wire/rev2025-11-25/index.ts';
import { ANYTHING } from './anything.ts';
import type { Host } from './host.ts';

/** Made once: servers come per request. */
const templates = new Recent<string, ResourceTemplate>(100);

/** An `McpServer` of `@modelcontextprotocol/server`, used by public means only. */
export function hostOn(mcp: McpServer): Host {
  if (!(mcp instanceof McpServer)) {
    throw new TypeError('the server factory must return an McpServer of @modelcontextprotocol/server');
  }
  const id = randomUUID();
  return {
    registerTool(name, tool, callback) {
      const { execution, inputSchema, ...config } = tool;
      const registered =
        inputSchema === undefined
          ? mcp.registerTool(name, config, (ctx) => callback(undefined, ctx) as Promise<CallToolResult>)
          : mcp.registerTool(
              name,
              { ...config, inputSchema },
              (args, ctx) => callback(args, ctx) as Promise<CallToolResult>,
            );
      if (execution !== undefined) registered.execution = execution;
    },
    registerPrompt(name, { argsSchema, ...config }, get) {
      if (argsSchema === undefined) mcp.registerPrompt(name, config, (ctx) => get(undefined, ctx) as Promise<never>);
      else mcp.registerPrompt(name, { ...config, argsSchema }, (args, ctx) => get(args, ctx) as Promise<never>);
    },
    registerReadable(name, uri, resource, read) {
      const config = { ...resource };
      if (!uri.includes('{')) mcp.registerResource(name, uri, config, (at, ctx) => read(at, {}, ctx) as Promise<never>);
      else
        mcp.registerResource(
          name,
          templateOf(uri),
          config,
          (at, variables, ctx) => read(at, variables, ctx) as Promise<never>,
        );
    },
    registerMethod(name, handler) {
      mcp.server.setRequestHandler(name, { params: ANYTHING }, (params, ctx) => handler(params, ctx));
    },
    registerResource(name, uriTemplate, resource, read) {
      mcp.registerResource(name, templateOf(uriTemplate), { ...resource }, async (uri, variables, ctx) => {
        const text = await read(uri, variables, ctx);
        if (text === undefined) throw new ResourceNotFoundError(uri.href);
        return { contents: [{ uri: uri.href, mimeType: resource.mimeType, text }] };
      });
    },
    registerCapabilities: (capabilities) => mcp.server.registerCapabilities(capabilities),
    get hasResources() {
      return mcp.server.getCapabilities().resources !== undefined;
    },
    onConnect(change) {
      const connect = mcp.connect.bind(mcp);
      mcp.connect = (transport) => {
        change(transport);
        return connect(transport);
      };
    },
    session() {
      const version = mcp.server.getNegotiatedProtocolVersion();
      if (version === undefined) return undefined;
      const client = readClient(mcp.server.getClientVersion());
      const capabilities = declaredCapabilities(mcp.server.getClientCapabilities(), version);
      return { id, version, capabilities, ...(client !== undefined && { client }) };
    },
    // All that is connected for longer than a request is stdio.
    hasStreams: false,
    onListening: () => false,
    hears: () => true,
    isToolResult: isCallToolResult,
  };
}

function templateOf(uri: string): ResourceTemplate {
  let template = templates.get(uri);
  if (template === undefined) {
    template = new ResourceTemplate(uri, { list: undefined });
    templates.set(uri, template);
  }
  return template;
}
