import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  completable,
  type InputRequests,
  inputRequired,
  type McpHttpHandler,
  McpServer,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { PNG, requestState } from './everything-tools.ts';

/**
 * What a server has beside the tools of `createTasks`: prompts, resources, completions, and the few tools that need the
 * SDK's own context. Its author wrote it for the SDK's `createMcpHandler`; here `createTaskHandler` serves it.
 * @param notify tells clients that listen that a list has changed
 */
export function everythingServer(notify: () => McpHttpHandler['notify']): McpServer {
  const mcp = new McpServer(
    { name: 'longcall-conformance-everything', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true },
        completions: {},
        logging: {},
      },
      requestState: { verify: requestState.verify },
    },
  );
  registerTools(mcp, notify);
  registerResources(mcp);
  registerPrompts(mcp);
  return mcp;
}

const done = (text: string) => ({ content: [{ type: 'text' as const, text }] });

function registerTools(mcp: McpServer, notify: () => McpHttpHandler['notify']): void {
  mcp.registerTool('test_logging_tool', { description: 'Logs to the client' }, async (ctx: ServerContext) => {
    await ctx.mcpReq.log('info', 'only for callers that asked for a log level');
    return done('logged');
  });

  mcp.registerTool('test_tool_with_logging', { description: 'Logs three times' }, async (ctx: ServerContext) => {
    for (const text of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await ctx.mcpReq.log('info', text);
    }
    return done('logged');
  });

  mcp.registerTool('test_trigger_tool_change', { description: 'Says that the tools have changed' }, () => {
    notify().toolsChanged();
    return done('told');
  });

  mcp.registerTool('test_trigger_prompt_change', { description: 'Says that the prompts have changed' }, () => {
    notify().promptsChanged();
    return done('told');
  });

  // Not a tool of `createTasks`: `prepare` is not told what the client declared.
  mcp.registerTool(
    'test_input_required_result_capabilities',
    { description: 'Asks only for what the client can do' },
    (ctx: ServerContext) => {
      if (ctx.mcpReq.inputResponses !== undefined) return done('thank you');
      const envelope = ctx.mcpReq.envelope as Record<string, unknown> | undefined;
      const declared = (envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {}) as { elicitation?: object; sampling?: object };
      const inputRequests: InputRequests = {};
      if (declared.elicitation !== undefined)
        inputRequests.user_name = inputRequired.elicit({
          message: 'What is your name?',
          requestedSchema: z.object({ name: z.string() }),
        });
      if (declared.sampling !== undefined) {
        const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Generate a greeting' } }];
        inputRequests.greeting = inputRequired.createMessage({ messages, maxTokens: 50 });
      }
      return Object.keys(inputRequests).length > 0 ? inputRequired({ inputRequests }) : done('nothing to ask');
    },
  );
}

function registerResources(mcp: McpServer): void {
  const [plain, json] = ['text/plain', 'application/json'];
  mcp.registerResource('static-text', 'test://static-text', { mimeType: plain }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: plain, text: 'This is the content of the static text resource.' }],
  }));
  mcp.registerResource('static-binary', 'test://static-binary', { mimeType: 'image/png' }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'image/png', blob: PNG }],
  }));
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  mcp.registerResource('template', template, { mimeType: json }, ({ href: uri }, { id }) => ({
    contents: [{ uri, mimeType: json, text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }],
  }));
}

function registerPrompts(mcp: McpServer): void {
  const user = (content: { type: 'text'; text: string }) => ({ role: 'user' as const, content });
  const saying = (text: string) => ({ messages: [user({ type: 'text', text })] });

  mcp.registerPrompt('test_simple_prompt', { description: 'A prompt without arguments' }, () =>
    saying('This is a simple prompt for testing.'),
  );

  const argsSchema = z.object({
    arg1: completable(z.string(), (value) => ['test one', 'test two', 'paris'].filter((one) => one.startsWith(value))),
    arg2: z.string(),
  });
  mcp.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'A prompt with arguments', argsSchema },
    ({ arg1, arg2 }) => saying(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`),
  );

  mcp.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A prompt around a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) => {
      const resource = { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' };
      const { messages } = saying('Please process the embedded resource above.');
      return { messages: [{ role: 'user', content: { type: 'resource', resource } }, ...messages] };
    },
  );

  mcp.registerPrompt('test_prompt_with_image', { description: 'A prompt around an image' }, () => {
    const { messages } = saying('Please analyze the image above.');
    return { messages: [{ role: 'user', content: { type: 'image', data: PNG, mimeType: 'image/png' } }, ...messages] };
  });

  // The SDK calls the callback of a prompt without arguments with the context alone; its types do not say so.
  const contextual = (ctx: unknown) => {
    const { inputResponses } = (ctx as ServerContext).mcpReq;
    const requestedSchema = z.object({ context: z.string() });
    const answer = acceptedContent(inputResponses, 'user_context', requestedSchema);
    if (answer !== undefined) return saying(`Use the following context: ${answer.context}`);
    const user_context = inputRequired.elicit({ message: 'What context should the prompt use?', requestedSchema });
    return inputRequired({ inputRequests: { user_context } });
  };
  mcp.registerPrompt('test_input_required_result_prompt', { description: 'A prompt that asks first' }, contextual);
}
