import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { shellTool } from '../../src/adapters/index.ts';
import { isAlive, markedWith, type ProcessIdentity } from '../../src/adapters/processes/process-table.ts';
import type { Answer, JsonObject } from '../../src/core/index.ts';
import { type AdapterHarness, type AdapterSystem, adapterSuite } from '../../src/testing/index.ts';

const PROGRAM = join(import.meta.dirname, 'shell', 'contract-job.mjs');

/** Commands of this machine: real processes, told what to do through files. */
function shellSystem(): AdapterSystem<JsonObject, string> {
  const root = mkdtempSync(join(tmpdir(), 'longcall-contract-'));
  const folder = join(root, 'jobs');
  const book = (name: string, part: string): string => join(root, `${name}.${part}`);
  const lines = (name: string, part: string): string[] => {
    const path = book(name, part);
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  };
  const order = (name: string, what: object): void => appendFileSync(book(name, 'orders'), `${JSON.stringify(what)}\n`);
  const names = new Set<string>();
  /** The command, and its runner, which would write down how that ended. */
  const kill = (key: string): void => {
    const runner = join(folder, key, 'runner.json');
    const known = existsSync(runner) ? [JSON.parse(readFileSync(runner, 'utf8')).runner as ProcessIdentity] : [];
    for (const one of [...known, ...markedWith(`LONGCALL_JOB=${key}`)]) {
      if (isAlive(one)) process.kill(one.pid, 'SIGKILL');
    }
  };
  return {
    enter: () => ({
      adapter: shellTool<JsonObject>({
        folder,
        limits: { graceMs: 2_000 },
        command: ({ name }) => ({
          file: process.execPath,
          args: [PROGRAM],
          env: { PATH: process.env.PATH ?? '', BOOK: join(root, String(name)) },
        }),
      }),
    }),
    args(name) {
      names.add(name);
      return { name };
    },
    unknownRef: 'x'.repeat(24),
    started: (name) => lines(name, 'started').length,
    finish: (name, text) => order(name, { do: 'end', code: 0, text }),
    fail: (name, text) => order(name, { do: 'end', code: 3, text }),
    vanish(name) {
      const key = lines(name, 'started').at(-1) ?? '';
      kill(key);
      rmSync(join(folder, key), { recursive: true, force: true, maxRetries: 5 });
    },
    stopped: (name) => existsSync(book(name, 'stopped')),
    log: (name, written) => order(name, { do: 'log', lines: written }),
    ask: (name, form) => order(name, { do: 'ask', form }),
    answers: (name) => lines(name, 'answers').map((line) => JSON.parse(line) as Answer),
    close() {
      for (const name of names) for (const key of lines(name, 'started')) kill(key);
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const harness: AdapterHarness<JsonObject, string> = { open: shellSystem };
const { cases, notApplicable } = await adapterSuite(harness);

describe('a command', () => {
  it.each(cases)('$name', ({ run }) => run(harness));
  // No network is in between: nothing refuses, loses answers, is busy, late, or sends requests.
  it.skip.each(notApplicable)('$name (not applicable: $why)', () => {});
});
