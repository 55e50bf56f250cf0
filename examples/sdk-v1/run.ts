import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { onEachTransport } from '../support/on-each-transport.ts';

const connected = async (transport: Transport): Promise<Client> => {
  const client = new Client({ name: 'host', version: '1.0.0' }, { capabilities: { tasks: {} } });
  await client.connect(transport);
  return client;
};

await onEachTransport(
  new URL('server.ts', import.meta.url),
  async (client: Client) => {
    const said = (result: unknown) => (result as { content: [{ text: string }] }).content[0].text;
    console.log(`  ${said(await client.callTool({ name: 'formats' }))}`);

    const { tasks } = client.experimental;
    const call = { name: 'transcode', arguments: { frames: 500 } };
    const shown = new Set<string>();
    for await (const message of tasks.callToolStream(call, undefined, { task: {} })) {
      if (message.type === 'error') throw message.error;
      if (message.type === 'result') console.log(`  completed: ${said(message.result)}`);
      const { statusMessage = '' } = message.type === 'taskStatus' ? message.task : {};
      if (statusMessage !== '' && !shown.has(statusMessage)) console.log(`  ${statusMessage}`);
      shown.add(statusMessage);
    }

    // Who asks for no task waits for the result. It was one all the same.
    const { content } = await client.callTool({ name: 'transcode', arguments: { frames: 300 } });
    assert.deepEqual(content, [{ type: 'text', text: '300 frames' }]);
    const listed = await tasks.listTasks();
    console.log(`  ${listed.tasks.map(({ status }) => status).join(', ')}`);
  },
  {
    http: (url) => connected(new StreamableHTTPClientTransport(new URL(url)) as Transport),
    stdio: (command, args, env) => connected(new StdioClientTransport({ command, args, env })),
  },
);
