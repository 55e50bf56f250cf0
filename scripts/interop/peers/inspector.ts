// The Inspector's command line: a process per call, which prints the result when the task is over.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ended, track } from '../../support/children.ts';
import { type Installed, installed } from '../../support/installed.ts';
import { type Followed, type Json, type Outcome, PATIENCE_MS, type Peer, type PeerKind, resultOf } from '../peer.ts';
import type { Site } from '../site.ts';

const NAME = '@modelcontextprotocol/inspector';
const VERSION = '2.12.0';
const cache = join(import.meta.dirname, '../../../.cache');
const fetched = (): Promise<Installed> => installed(NAME, VERSION, cache);

export const inspector: PeerKind = {
  name: `inspector ${VERSION} 2026-07-28`,
  native: true,
  prepare: fetched,
  connect: async (site) => new CommandLine(await fetched(), site, 'modern'),
};

export const inspectorLegacy: PeerKind = {
  name: `inspector ${VERSION} 2025-11-25`,
  native: true,
  // It shows nothing of a failed task but its message.
  server: { isErrorStatus: 'completed' },
  prepare: fetched,
  connect: async (site) => new CommandLine(await fetched(), site, 'legacy'),
};

class CommandLine implements Peer {
  readonly #program: Installed;
  readonly #site: Site;
  readonly #era: 'modern' | 'legacy';
  /** Ends the call that runs, if one does. */
  #abort: (() => Promise<unknown>) | undefined;

  constructor(program: Installed, site: Site, era: 'modern' | 'legacy') {
    this.#program = program;
    this.#site = site;
    this.#era = era;
  }

  async call(tool: string, args: Json): Promise<Outcome> {
    const { node, folder } = this.#program;
    const { transport, url, command } = this.#site;
    const target = transport === 'http' ? [url] : [command.command, ...command.args];
    const options = { '--protocol-era': this.#era, '--method': 'tools/call', '--tool-name': tool };
    const child = track(
      spawn(
        node,
        [
          join(folder, 'clients/launcher/build/index.js'),
          ...['--cli', '--quiet', '--format', 'json', ...Object.entries(options).flat()],
          ...['--tool-args-json', JSON.stringify(args), '--', ...target],
        ],
        { cwd: command.cwd, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: this.#site.home } },
      ),
    );
    this.#abort = () => {
      child.kill('SIGTERM');
      return ended(child);
    };
    const [, answer, errors] = await Promise.all([ended(child, PATIENCE_MS), text(child.stdout), text(child.stderr)]);
    this.#abort = undefined;
    if (answer !== '') return resultOf((JSON.parse(answer) as { result: Json }).result);
    return failure(errors);
  }

  async start(tool: string, args: Json): Promise<Followed> {
    // On 2025-11-25 it runs tools as tasks only where they demand it.
    const name = this.#era === 'legacy' && !tool.startsWith('must_') ? `must_${tool}` : tool;
    return {
      taskId: undefined,
      outcome: this.call(name, args),
      cancel: () => Promise.reject(new Error('there is no command to cancel')),
    };
  }

  outcome(): Promise<never> {
    throw new Error('there is no command to find a task again');
  }

  list(): Promise<never> {
    throw new Error('there is no command to list tasks');
  }

  async close(): Promise<void> {
    await this.#abort?.();
  }
}

function failure(errors: string): Outcome {
  const line = errors.split('\n').find((one) => one.startsWith('{"error"'));
  if (line === undefined) throw new Error(`neither a result nor an error:\n${errors}`);
  const { code, message } = (JSON.parse(line) as { error: { code: unknown; message: string } }).error;
  return { status: 'error', code: typeof code === 'number' ? code : undefined, message };
}
