import { setTimeout } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

// A server as there are thousands: it knows nothing of tasks, and one of its tools takes its time.
serveStdio(() => {
  const server = new McpServer({ name: 'studio', version: '1.0.0' });
  server.registerTool('render', { inputSchema: z.object({ frames: z.number() }) }, async ({ frames }) => {
    await setTimeout(2_000);
    return { content: [{ type: 'text', text: `${frames} frames` }] };
  });
  server.registerTool('formats', {}, () => ({ content: [{ type: 'text', text: 'mp4, webm' }] }));
  return server;
});
