// A client for each way to do tasks that there is, and one that knows none: what the example needs of them, each in its own words.
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { type Call, CallCancelledError, type TaskClient } from 'longcall/client';

/** A run of the tests, as one of the clients sees it. */
export interface Run {
  wire: string;
  /** Resolves once a line of its log says this, while it runs. */
  sees(text: string): Promise<void>;
  /** Whether it still runs. */
  runs(): Promise<boolean>;
  cancel(): Promise<void>;
  /** What its result says. */
  result(): Promise<string>;
  close(): Promise<void>;
}

/** Some quick tests, and the two of the example. */
const FILES = ['test/core/', 'test-suite/suite/'];
const INFO = { name: 'test-suite', version: '1.0.0' };
const PAUSE_MS = 500;

/** The tasks of 2026-07-28 and of the first draft, by a client that keeps a journal. */
export async function byJournal(
  client: TaskClient,
  wire: string,
  options: object,
  url: string,
): Promise<Run & { progress(pattern: RegExp): Promise<void> }> {
  const server = await client.connect(wire, { url, ...options });
  const call: Call = await server.callTool({ name: 'run_tests', arguments: { label: wire, files: FILES } });
  return {
    wire,
    async sees(text) {
      for await (const line of call.log({ follow: true })) if (line.text.includes(text)) return;
      assert.fail(`its log does not say ${text}`);
    },
    runs: async () => (await call.refresh()).status === 'working',
    async cancel() {
      await call.cancel();
      await assert.rejects(call.result(), CallCancelledError);
    },
    result: async () => textOf(await call.result()),
    close: async () => {}, // With its journal.
    async progress(pattern) {
      for await (const { progress } of call.updates()) if (pattern.test(progress?.message ?? '')) return;
    },
  };
}

/** The tasks of 2025-11-25, by the official SDK that has them. */
export async function bySdkV1(wire: string, url: string): Promise<Run> {
  const client = new ClientV1(INFO, { capabilities: { tasks: {} } });
  await client.connect(new HttpTransportV1(new URL(url)) as never);
  await client.listTools();
  const { tasks } = client.experimental;
  const call = { name: 'run_tests', arguments: { label: wire, files: FILES } };
  const stream = tasks.callToolStream(call, CallToolResultSchema, { task: { ttl: 3_600_000 } });
  const { value: first } = await stream.next();
  assert(first?.type === 'taskCreated');
  const { taskId } = first.task;
  await stream.return?.(undefined as never);
  return {
    wire,
    async sees(text) {
      for (;;) {
        const { contents } = await client.readResource({ uri: `longcall://tasks/${taskId}/log` });
        if ((contents[0] as { text: string }).text.includes(text)) return;
        await setTimeout(PAUSE_MS);
      }
    },
    runs: async () => (await tasks.getTask(taskId)).status === 'working',
    cancel: async () => void (await tasks.cancelTask(taskId)),
    result: async () => textOf(await tasks.getTaskResult(taskId, CallToolResultSchema)),
    close: () => client.close(),
  };
}

/** No tasks: its model is told how to go on, and goes on with tools. */
export async function byTools(wire: string, url: string): Promise<Run> {
  const client = new Client(INFO);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  await client.listTools();
  const call = async (name: string, args: object): Promise<string> =>
    textOf(await client.callTool({ name, arguments: { ...args } }, { timeout: 120_000 }));
  const goesOn = (said: string): boolean => /^.*is still running/.test(said);
  const note = await call('run_tests', { label: wire, files: FILES });
  const [, taskId] = /"taskId":"([^"]+)"/.exec(note) ?? assert.fail(note);
  return {
    wire,
    async sees(text) {
      while (!(await call('task_logs', { taskId, tail: 100 })).includes(text)) await setTimeout(PAUSE_MS);
    },
    runs: async () => goesOn(await call('task_status', { taskId })),
    cancel: async () => void (await call('task_cancel', { taskId })),
    async result() {
      for (;;) {
        const said = await call('task_wait', { taskId });
        if (!goesOn(said)) return said;
      }
    },
    close: () => client.close(),
  };
}

function textOf(result: object): string {
  const { content } = result as { content: { text?: string }[] };
  return content.map(({ text = '' }) => text).join('\n');
}
