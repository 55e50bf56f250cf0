import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { FixtureUrls } from '../../test/conformance/server.ts';
import { ended, track } from '../support/children.ts';

export interface Fixture {
  urls: FixtureUrls;
  alive(): boolean;
  /** What the servers have told their operator so far. */
  log(): string;
  /** @throws {Error} when the process does not end by itself, or ended before. */
  close(): Promise<void>;
}

/** Starts the servers under test in a process of their own, their databases in `folder`. */
export function startFixture(folder: string): Promise<Fixture> {
  return started('server.ts', [folder]);
}

/** Starts gateways before servers that are there, in another process, their state in `folder`. */
export function startGateway(folder: string, { urls }: Fixture): Promise<Fixture> {
  return started('gateway-process.ts', [folder, JSON.stringify(urls)]);
}

async function started(program: string, args: string[]): Promise<Fixture> {
  const child = track(
    fork(join(import.meta.dirname, '../../test/conformance', program), args, {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    }),
  );
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text) => (log += text));
  const ready = once(child, 'message') as Promise<[FixtureUrls]>;
  const first = await Promise.race([ready, once(child, 'exit')]);
  const [urls] = first;
  if (typeof urls !== 'object' || urls === null) throw new Error(`the server under test did not start:\n${log}`);
  return {
    urls,
    alive: () => child.exitCode === null && child.signalCode === null,
    log: () => log,
    async close() {
      if (child.connected) child.disconnect();
      const status = await ended(child);
      if (status !== 0) throw new Error(`the server under test ended with ${status}:\n${log}`);
    },
  };
}
