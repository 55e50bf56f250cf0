// The demo's server: two tools, a database, and a file that tells which steps have been started. Knows nothing about
// being killed.
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createTasks, sqliteStore, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';
import { batchesOf, combine, hashFile, listFiles } from './fingerprint.ts';

const { DEMO_DB = '', DEMO_STEP_LOG = '', DEMO_PID_FILE = '', DEMO_PORT = '0' } = process.env;

// Over stdio the server is the client's child, and the conductor has to find it.
if (!existsSync(dirname(DEMO_PID_FILE))) process.exit(1); // The demo was over before this process had begun.
writeFileSync(DEMO_PID_FILE, String(process.pid));

// A lost worker's task is taken over when its lease runs out: soon, since people are watching.
const tasks = createTasks({ store: sqliteStore(DEMO_DB), leaseMs: 2_000, sweepMs: 250, drainMs: 1_000 });

/** Evidence for the conductor, written by the step itself and not by longcall. */
function started(step: string): void {
  appendFileSync(DEMO_STEP_LOG, `${Date.now()} ${process.pid} ${step}\n`);
}

tasks.registerTool(
  'fingerprint_folder',
  {
    description: 'SHA-256 over all files of a folder',
    inputSchema: z.object({
      folder: z.string(),
      atLeastMs: z.int().min(0).describe('Spread the work over this time, however small the folder is'),
    }),
    outputSchema: z.object({
      fingerprint: z.string(),
      files: z.int(),
      bytes: z.int(),
      steps: z.int(),
      waitedMs: z.int(),
    }),
    task: { support: 'required', pollIntervalMs: 200, onWorkerLost: 'resume' },
  },
  async ({ folder, atLeastMs }, task) => {
    const files = await task.step('list', () => {
      started('list');
      return listFiles(folder);
    });
    const batches = batchesOf(files);
    const digests: string[] = [];
    let bytes = 0;
    let waitedMs = 0;
    for (const [n, batch] of batches.entries()) {
      const name = `batch ${n + 1}`;
      const done = await task.step(name, async ({ signal }) => {
        started(name);
        const since = performance.now();
        const hashed = [];
        for (const file of batch) hashed.push(await hashFile(join(folder, file), signal));
        const spare = Math.max(0, Math.round(atLeastMs / batches.length - (performance.now() - since)));
        if (spare > 0) await setTimeout(spare, undefined, { signal });
        return { hashed, spare };
      });
      for (const file of done.hashed) {
        digests.push(file.digest);
        bytes += file.bytes;
      }
      waitedMs += done.spare;
      task.progress(n + 1, batches.length, batch[0]);
    }
    const fingerprint = combine(files, digests);
    return {
      ...text(`${fingerprint} (${files.length} files, ${bytes} bytes)`),
      structuredContent: { fingerprint, files: files.length, bytes, steps: batches.length + 1, waitedMs },
    };
  },
);

tasks.registerTool(
  'publish_fingerprint',
  {
    description: 'Publish a fingerprint under a name that somebody chooses',
    inputSchema: z.object({ fingerprint: z.string() }),
    task: { support: 'required', pollIntervalMs: 200 },
  },
  async ({ fingerprint }, task) => {
    const short = await task.step('shorten', () => {
      started('shorten');
      return fingerprint.slice(0, 12);
    });
    const answer = await task.ask('name', {
      message: `Under which name shall ${short} be published?`,
      schema: z.object({ name: z.string().min(1).max(60), listed: z.boolean() }),
    });
    if (answer.action !== 'accept') return text(`${short} was not published`);
    const { name, listed } = answer.content;
    const address = await task.step('publish', () => {
      started('publish');
      return `${name}-${short}`;
    });
    return text(`published as ${address}, ${listed ? 'listed' : 'not listed'}`);
  },
);

const server = createTaskServer(tasks, { name: 'longcall-demo', version: '1.0.0' });
if (process.argv.includes('--stdio')) {
  server.stdio();
} else {
  const { url, port } = await server.listen({ port: Number(DEMO_PORT) });
  process.send?.({ type: 'listening', url, port });
  process.once('disconnect', () => process.exit()); // Not without the conductor.
}
