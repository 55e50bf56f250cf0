// The official client of SDK v2. On 2026-07-28 it refuses to receive a task, whatever it declares, and is best off as a caller
// without tasks; on 2025-11-25 the requests of tasks can be spelled out.
import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { z } from 'zod';
import {
  CLIENT_INFO,
  type Followed,
  type Hooks,
  type Json,
  type Outcome,
  PATIENCE_MS,
  type Peer,
  type PeerKind,
  refused,
  resultOf,
} from '../peer.ts';
import type { Site } from '../site.ts';
import { CallerWithoutTasks } from './without-tasks.ts';

const VERSION = '2.4.0';
const MODERN = '2026-07-28';
const anything = z.looseObject({});
const timeout = { timeout: PATIENCE_MS };

export const sdkV2: PeerKind = {
  name: `sdk v2 ${VERSION} ${MODERN}`,
  native: false,
  server: { detachAfterMs: 300 },
  async connect(site) {
    const capabilities = { elicitation: { form: {} } };
    const { client } = await connected(site, { capabilities, versionNegotiation: { mode: { pin: MODERN } } });
    return new FollowingWords(client);
  },
};

export const sdkV2Declaring: PeerKind = {
  name: `sdk v2 ${VERSION} ${MODERN}, declaring tasks`,
  native: true,
  scenarios: ['sync', 'task'],
  async connect(site) {
    const capabilities = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const { client } = await connected(site, { capabilities, versionNegotiation: { mode: { pin: MODERN } } });
    return new FollowingWords(client);
  },
};

export const sdkV2Legacy: PeerKind = {
  name: `sdk v2 ${VERSION} 2025-11-25`,
  native: true,
  async connect(site) {
    const { client } = await connected(site, { capabilities: { elicitation: { form: {} } } });
    return new SpelledOut(client);
  },
};

export async function connected(site: Site, options: ClientOptions): Promise<{ client: Client; transport: Transport }> {
  const transport: Transport =
    site.transport === 'http'
      ? new StreamableHTTPClientTransport(new URL(site.url), { fetch: site.validator.wrapFetch(fetch) })
      : site.validator.tapTransport(new StdioClientTransport({ ...site.command, stderr: 'ignore' }));
  const client = new Client(CLIENT_INFO, options);
  await client.connect(transport, timeout);
  return { client, transport };
}

/** Answers the questions of whatever runs at the moment. */
export function answering(client: Client, hooks: () => Hooks | undefined): void {
  client.setRequestHandler('elicitation/create', ({ params }) => {
    const answer = hooks()?.onQuestion;
    if (answer === undefined) return { action: 'decline' };
    return { action: 'accept', content: answer(params.message) as Record<string, string> };
  });
}

/** Follows the words of answers that are no results yet. */
class FollowingWords extends CallerWithoutTasks {
  protected override readonly canBeAsked = true;
  readonly #client: Client;

  constructor(client: Client) {
    super();
    this.#client = client;
    answering(client, () => this.hooks);
  }

  call(name: string, args: Json, { onProgress }: Hooks = {}): Promise<Outcome> {
    const onprogress = ({ progress, total }: { progress: number; total?: number | undefined }) =>
      onProgress?.(`${progress}/${total}`);
    return this.#client.callTool({ name, arguments: args }, { ...timeout, onprogress }).then(resultOf, refused);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

/** `callTool` knows no tasks, but the client lets everybody send any request. */
class SpelledOut implements Peer {
  readonly #client: Client;
  #hooks: Hooks | undefined;

  constructor(client: Client) {
    this.#client = client;
    answering(client, () => this.#hooks);
  }

  call(name: string, args: Json): Promise<Outcome> {
    return this.#client.callTool({ name, arguments: args }, timeout).then(resultOf, refused);
  }

  async start(name: string, args: Json, hooks: Hooks = {}): Promise<Followed> {
    this.#hooks = hooks;
    const { task } = await this.#request('tools/call', { name, arguments: args, task: {} });
    const { taskId } = task as { taskId: string };
    return {
      taskId,
      outcome: this.outcome(taskId),
      cancel: async () => void (await this.#request('tasks/cancel', { taskId })),
    };
  }

  async outcome(taskId: string): Promise<Outcome> {
    for (;;) {
      const { status, statusMessage, pollInterval } = await this.#request('tasks/get', { taskId });
      if (typeof statusMessage === 'string') this.#hooks?.onProgress?.(statusMessage);
      if (status === 'cancelled') return { status };
      if (status !== 'working') return this.#request('tasks/result', { taskId }).then(resultOf, refused);
      await new Promise((resolve) => setTimeout(resolve, Number(pollInterval)));
    }
  }

  async list(): Promise<{ taskId: string; status: string }[]> {
    const { tasks } = await this.#request('tasks/list', {});
    return (tasks as { taskId: string; status: string }[]).map(({ taskId, status }) => ({ taskId, status }));
  }

  #request(method: string, params: Json): Promise<Json> {
    return this.#client.request({ method, params }, anything, timeout);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
