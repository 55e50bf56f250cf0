import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { isSdkV1 } from '../server/binding.ts';
import { scratchFolder } from '../support/stores.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** How to start the fixture server. */
export function command(transport: string, ...args: string[]): { command: string; args: string[]; cwd: string } {
  const fixture = fileURLToPath(new URL('fixture-server.ts', import.meta.url));
  const on = isSdkV1() ? `${transport}-sdk-v1` : transport;
  return { command: process.execPath, args: ['--import', 'tsx', fixture, on, ...args], cwd: root };
}

/** A database, and a folder through which a test looks into its server. Both go when the test ends. */
export interface Place {
  database: string;
  folder: string;
  /** Lets waiting steps end. */
  go(): void;
  /** What has run so far, in order. */
  ran(): string[];
}

export function aPlace(): Place {
  const { path, remove } = scratchFolder();
  onTestFinished(remove);
  const log = `${path}/ran`;
  return {
    database: `${path}/tasks.db`,
    folder: path,
    go: () => writeFileSync(`${path}/go`, ''),
    ran: () => (existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : []),
  };
}

/** A process that ends with the test. */
export interface Running {
  readonly child: ChildProcess;
  /** All it has written so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** Its exit code, or the signal that ended it; after all output was read. */
  readonly ended: Promise<number | string>;
  /** As a power cut would. */
  kill(): Promise<void>;
}

export function run(transport: string, ...args: string[]): Running {
  const { command: file, args: all, cwd } = command(transport, ...args);
  const child = spawn(file, all, { cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      written[name] += chunk;
    });
  }
  child.stdin.on('error', () => {}); // It may be gone when we write; that is what some tests are about.
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'gone'));
  });
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  return {
    child,
    ended,
    kill,
    get stdout() {
      return written.stdout;
    },
    get stderr() {
      return written.stderr;
    },
  };
}

/** Starts the fixture over HTTP and waits until it serves. */
export async function listening(place: Place, port = 0): Promise<Running & { url: string; port: number }> {
  const running = run('http', place.database, place.folder, String(port));
  const url = await Promise.race([
    new Promise<string>((resolve) => {
      running.child.stdout?.on('data', () => {
        if (running.stdout.includes('\n')) resolve((JSON.parse(running.stdout) as { url: string }).url);
      });
    }),
    running.ended.then((code) => {
      throw new Error(`the server ended with ${code}:\n${running.stderr}`);
    }),
  ]);
  return Object.assign(running, { url, port: Number(new URL(url).port) });
}

/** Looks again and again until there is something to see. */
export async function until<Value>(
  what: string,
  look: () => Value | undefined | Promise<Value | undefined>,
  patienceMs = 20_000,
): Promise<Value> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    if (performance.now() > deadline) throw new Error(`after ${patienceMs} ms still not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
