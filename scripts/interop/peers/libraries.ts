// Libraries that give tools to agents. They know no tasks: what they get is what a model would read.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ended, track } from '../../support/children.ts';
import { installed } from '../../support/installed.ts';
import { type Hooks, type Json, type Outcome, PATIENCE_MS, type PeerKind } from '../peer.ts';
import type { Site } from '../site.ts';
import { CallerWithoutTasks, progressIn } from './without-tasks.ts';

const cache = join(import.meta.dirname, '../../../.cache');
const program = join(import.meta.dirname, '../../../test/interop/library-process.ts');

export const aiSdk = library('@ai-sdk/mcp', '2.0.99', ['zod@4.6.7']);
export const openAiAgents = library('@openai/agents', '0.20.0', ['zod@4.6.7']);
export const langchain = library('@langchain/mcp-adapters', '1.1.4', [
  '@langchain/core@1.4.0',
  '@langchain/langgraph@1.7.3',
]);

function library(name: string, version: string, beside: readonly string[]): PeerKind {
  return {
    name: `${name} ${version}`,
    native: false,
    server: { detachAfterMs: 300 },
    async connect(site) {
      const { node, modules } = await installed(name, version, cache, beside);
      const peer = new InProcess(node, [program, name, modules], site);
      await peer.ready();
      return peer;
    },
  };
}

/** A program that calls tools as it is told. */
class InProcess extends CallerWithoutTasks {
  readonly #child;
  readonly #waiting = new Map<number, { resolve(outcome: Outcome): void; reject(error: Error): void }>();
  #calls = 0;
  #errors = '';

  constructor(node: string, args: string[], { transport, url, command, home }: Site) {
    super();
    const target = transport === 'http' ? { url } : command;
    // Nothing of ours: no keys, no proxy, and no reports to whoever made it.
    const env = { PATH: process.env.PATH, HOME: home, DO_NOT_TRACK: '1', OPENAI_AGENTS_DISABLE_TRACING: '1' };
    this.#child = track(
      spawn(node, [...args, JSON.stringify(target)], { env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] }),
    );
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-4_000);
    });
    this.#child.on('message', (message: 'ready' | { id: number; outcome: Outcome }) => {
      const [id, outcome]: [number, Outcome] =
        message === 'ready' ? [0, { status: 'result', result: {} }] : [message.id, message.outcome];
      this.#waiting.get(id)?.resolve(outcome);
      this.#waiting.delete(id);
    });
    this.#child.once('exit', () => this.#giveUp());
    this.#child.once('error', () => this.#giveUp());
  }

  ready(): Promise<Outcome> {
    return this.#answerTo(0);
  }

  async call(tool: string, args: Json, { onProgress }: Hooks = {}): Promise<Outcome> {
    this.#calls += 1;
    const answer = this.#answerTo(this.#calls);
    this.#child.send({ id: this.#calls, tool, args }, (error) => error !== null && this.#giveUp());
    const outcome = await answer;
    const progress = progressIn(outcome); // They ask for no notifications of it: words are all they get.
    if (progress !== undefined) onProgress?.(progress);
    return outcome;
  }

  async close(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await ended(this.#child);
  }

  #answerTo(id: number): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => settled.reject(new Error('it does not answer')), PATIENCE_MS).unref();
      const settled = {
        resolve: (outcome: Outcome) => {
          clearTimeout(late);
          resolve(outcome);
        },
        reject: (error: Error) => {
          clearTimeout(late);
          reject(error);
        },
      };
      this.#waiting.set(id, settled);
    });
  }

  #giveUp(): void {
    for (const { reject } of this.#waiting.values()) reject(new Error(`it ended:\n${this.#errors}`));
    this.#waiting.clear();
  }
}
