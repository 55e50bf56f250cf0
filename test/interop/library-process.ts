// A library for agents, in a process of its own, with a server of ours: `library-process.ts NAME MODULES TARGET`. It is told
// which tools to call, and tells what whoever uses the library gets, as scripts/interop/peers/program.ts has it.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import type { Json, Outcome } from '../../scripts/interop/peer.ts';

/** Where the server is, or how it is started. */
type Target = { url: string } | { command: string; args: string[]; cwd: string };

interface Library {
  call(tool: string, args: Json): Promise<unknown>;
  close(): Promise<unknown>;
}

// They are no dependencies, so there are no types of theirs.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Any = any;

const [name = '', modules = '', json = '{}'] = process.argv.slice(2);
const target = JSON.parse(json) as Target;
const resolve = createRequire(join(modules, 'of-this-folder.js')).resolve;
const load = (module: string): Promise<Any> => import(pathToFileURL(resolve(module)).href);

const libraries: Readonly<Record<string, () => Promise<Library>>> = {
  async '@ai-sdk/mcp'() {
    const { createMCPClient } = await load('@ai-sdk/mcp');
    const { Experimental_StdioMCPTransport: Stdio } = await load('@ai-sdk/mcp/mcp-stdio');
    const transport = 'url' in target ? { type: 'http', url: target.url } : new Stdio(target);
    const client = await createMCPClient({ transport });
    const tools = await client.tools();
    const options = { toolCallId: 'call', messages: [] };
    return { call: (tool, args) => tools[tool].execute(args, options), close: () => client.close() };
  },

  async '@openai/agents'() {
    const { MCPServerStreamableHttp: Http, MCPServerStdio: Stdio } = await load('@openai/agents');
    const server = 'url' in target ? new Http({ name: 'longcall', ...target }) : new Stdio(target);
    await server.connect();
    await server.listTools();
    return { call: (tool, args) => server.callToolResult(tool, args), close: () => server.close() };
  },

  async '@langchain/mcp-adapters'() {
    const { MultiServerMCPClient } = await load('@langchain/mcp-adapters');
    const connection = 'url' in target ? { transport: 'http', ...target } : { transport: 'stdio', ...target };
    const client = new MultiServerMCPClient({ mcpServers: { longcall: connection } });
    const tools: Any[] = await client.getTools();
    return {
      async call(name, args) {
        const tool = tools.find((one) => one.name === name);
        const message = await tool.invoke({ type: 'tool_call', id: 'call', name, args });
        return asResult(message.content);
      },
      close: () => client.close(),
    };
  },
};

const library = await libraries[name]?.();
if (library === undefined) throw new Error(`there is no library ${name}`);
const tell = (message: Json): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
const told = createInterface({ input: process.stdin });
told.on('line', (line) => {
  const { id, tool, args } = JSON.parse(line) as { id: number; tool: string; args: Json };
  void library
    .call(tool, args)
    .then((result): Outcome => ({ status: 'result', result: result as Json }), failure)
    .then((value) => tell({ id, value }));
});
told.once('close', () => {
  void library.close().finally(() => process.exit());
});
tell({ id: 0 });

/** Of a message: its blocks, or the text of the only one, or that block as JSON where it carries more than its text. */
function asResult(content: string | Json[]): Json {
  if (typeof content !== 'string') return { content };
  const block: Json = content.startsWith('{"type":"text"') ? JSON.parse(content) : { type: 'text', text: content };
  return { content: [block], structuredContent: block.structuredContent };
}

/** What a library throws, as its user reads it. */
function failure(error: Error & { code?: unknown; data?: unknown }): Outcome {
  const { message } = error;
  const [, said] = /returned an error: (.*)$/s.exec(message) ?? [];
  if (said !== undefined) return { status: 'result', result: { content: [{ text: said }], isError: true } };
  const [, code = error.code] = /MCP error (-\d+)/.exec(message) ?? [];
  return { status: 'error', code: code === undefined ? undefined : Number(code), message };
}
