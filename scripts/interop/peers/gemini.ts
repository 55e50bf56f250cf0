// Gemini CLI, headless, with a stand-in for its model: whenever it asks what to do next, it is told to call what a scenario
// calls. So one run of it plays all scenarios, and what counts is what reaches the model.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { json } from 'node:stream/consumers';
import { ended, track } from '../../support/children.ts';
import { type Installed, installed } from '../../support/installed.ts';
import { type Hooks, type Json, type Outcome, PATIENCE_MS, type PeerKind } from '../peer.ts';
import type { Site } from '../site.ts';
import { CallerWithoutTasks, progressIn } from './without-tasks.ts';

const NAME = '@google/gemini-cli';
const VERSION = '0.61.0';
const SERVER = 'longcall';
const MODEL = 'gemini-2.5-flash';
/** What its model is asked has this in it; what it asks for purposes of its own has not. */
const PROMPT = 'Do what the scenario says.';
const cache = join(import.meta.dirname, '../../../.cache');
const fetched = (): Promise<Installed> => installed(NAME, VERSION, cache);

export const gemini: PeerKind = {
  name: `gemini-cli ${VERSION}`,
  native: false,
  tellsOnlyText: 'of all',
  server: { detachAfterMs: 300 },
  prepare: fetched,
  async connect(site) {
    const model = new StandIn();
    const peer = new Headless(await fetched(), site, model, await model.listen());
    await peer.ready();
    return peer;
  },
};

interface Part {
  text?: string;
  functionResponse?: { response: { output?: string; error?: string } };
}

interface Question {
  contents?: { parts?: Part[] }[];
}

/** Speaks as much of the Gemini API as it takes. It answers when somebody has said what. */
class StandIn {
  readonly #server = createServer((request, response) => {
    void json(request).then(
      (body) => this.#asked(body as Question, response),
      () => response.destroy(),
    );
  });
  #open: ServerResponse | undefined;
  #wakeUp: ((last: Part) => void) | undefined;

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The last thing that is known when it is asked again. */
  next(): Promise<Part> {
    return new Promise((resolve) => {
      this.#wakeUp = resolve;
    });
  }

  /** Answers what was asked last. */
  say(part: Json): void {
    if (this.#open !== undefined) reply(this.#open, part);
    this.#open = undefined;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #asked({ contents = [] }: Question, response: ServerResponse): void {
    const parts = contents.flatMap((content) => content.parts ?? []);
    const last = parts.at(-1);
    if (last === undefined || !parts.some(({ text }) => text === PROMPT)) {
      reply(response, { text: 'ok' });
      return;
    }
    this.#open = response;
    this.#wakeUp?.(last);
  }
}

function reply(response: ServerResponse, part: Json): void {
  const candidate = { content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 };
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`data: ${JSON.stringify({ candidates: [candidate], usageMetadata, modelVersion: MODEL })}\n\n`);
}

class Headless extends CallerWithoutTasks {
  /** It does one thing after the other: a longer wait would keep everything else waiting. */
  protected override readonly waiting: Json = { maxWaitSec: 1 };
  readonly #child;
  readonly #model: StandIn;
  readonly #gone: Promise<never>;
  /** Done when it can be told the next thing. */
  #last: Promise<unknown>;
  #errors = '';

  constructor({ node, folder }: Installed, { transport, url, command, home }: Site, model: StandIn, modelUrl: string) {
    super();
    this.#model = model;
    const server = transport === 'http' ? { httpUrl: url } : command;
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
      general: { disableAutoUpdate: true },
      model: { disableLoopDetection: true }, // Whoever waits for a task asks the same again.
      telemetry: { enabled: false },
      privacy: { usageStatisticsEnabled: false },
      mcpServers: { [SERVER]: { ...server, trust: true } },
    };
    const workspace = join(home, 'workspace');
    mkdirSync(workspace, { recursive: true });
    mkdirSync(join(home, '.gemini'), { recursive: true });
    writeFileSync(join(home, '.gemini/settings.json'), JSON.stringify(settings));
    // Nothing of ours: no keys, no proxy, and no reports to whoever made it.
    const env = {
      PATH: [dirname(node), process.env.PATH].join(delimiter),
      HOME: home,
      NO_PROXY: '127.0.0.1',
      DO_NOT_TRACK: '1',
      GEMINI_API_KEY: 'none',
      GOOGLE_GEMINI_BASE_URL: modelUrl,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_CLI_NO_RELAUNCH: 'true', // One process, that can be ended.
    };
    const args = ['--model', MODEL, '--approval-mode', 'yolo', '--output-format', 'stream-json', '--prompt', PROMPT];
    this.#child = track(
      spawn(node, [join(folder, 'bundle/gemini.js'), ...args], {
        cwd: workspace,
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
    );
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-4_000);
    });
    this.#gone = new Promise((_, reject) => {
      const gone = (): void => reject(new Error(`it ended:\n${this.#errors}`));
      this.#child.once('exit', gone);
      this.#child.once('error', gone);
    });
    this.#gone.catch(() => {}); // It may: when it is closed.
    this.#last = this.#next();
  }

  async ready(): Promise<void> {
    try {
      await this.#last;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async call(tool: string, args: Json, { onProgress }: Hooks = {}): Promise<Outcome> {
    const before = this.#last;
    const answer = before.then(() => {
      const next = this.#next();
      this.#model.say({ functionCall: { name: `mcp_${SERVER}_${tool}`, args } });
      return next;
    });
    this.#last = answer.catch(() => {}); // Whoever called hears of it.
    const outcome = asOutcome(await answer);
    const progress = progressIn(outcome); // It asks for notifications, and shows them to nobody: words are all there is.
    if (progress !== undefined) onProgress?.(progress);
    return outcome;
  }

  async close(): Promise<void> {
    this.#model.say({ text: 'All done.' });
    await ended(this.#child);
    this.#model.close();
  }

  #next(): Promise<Part> {
    let late: NodeJS.Timeout | undefined;
    const never = new Promise<never>((_, reject) => {
      late = setTimeout(() => reject(new Error(`it asks its model nothing:\n${this.#errors}`)), PATIENCE_MS);
    });
    return Promise.race([this.#model.next(), this.#gone, never]).finally(() => clearTimeout(late));
  }
}

/** What reaches the model: text in an envelope (and behind it what links it had), or what went wrong as text around JSON. */
function asOutcome({ functionResponse }: Part): Outcome {
  const { output, error } = functionResponse?.response ?? {};
  if (error === undefined) {
    const [, text = output] = /^<untrusted_context>\n(.*)\n<\/untrusted_context>/s.exec(String(output)) ?? [];
    return { status: 'result', result: { content: [{ type: 'text', text }] } };
  }
  const [, answered] = / with response: (\[.*\])$/s.exec(error) ?? [];
  if (answered === undefined) return { status: 'error', code: undefined, message: error };
  const [first] = JSON.parse(answered) as { functionResponse: { response: Json } }[];
  const response = first?.functionResponse.response ?? {};
  if (!('error' in response)) return { status: 'result', result: response };
  const { message } = response.error as { message: string };
  const [, code] = /MCP error (-\d+)/.exec(message) ?? [];
  return { status: 'error', code: code === undefined ? undefined : Number(code), message };
}
