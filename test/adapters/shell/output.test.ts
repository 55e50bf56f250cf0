import { EventEmitter } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Piece } from '../../../src/adapters/shell/runner/framer.ts';
import type { LogFiles } from '../../../src/adapters/shell/runner/log-files.ts';
import { Output } from '../../../src/adapters/shell/runner/output.ts';
import type { JobLogLine } from '../../../src/core/index.ts';
import { ManualClock } from '../../../src/testing/index.ts';
import { adapterIn, begin, endOfJob, jobsFolder, logOf, textOf } from './support.ts';

const KIB = 1_024;

function keptBytes(folder: string): number {
  const names = readdirSync(folder).filter((name) => name.startsWith('log.'));
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

const texts = (log: readonly JobLogLine[]): string[] => log.map(({ text }) => text);

describe('a line of a command', () => {
  const reading = () => {
    const clock = new ManualClock();
    const pieces: string[] = [];
    const log = { write: () => {}, close: () => {} } as unknown as LogFiles;
    const onPiece = ({ data, continues }: Piece): void => void pieces.push(`${continues ? '+' : ''}${data}`);
    const output = new Output({ clock, log, secrets: [], onBytes: () => {}, onPiece });
    const stdout = new EventEmitter();
    output.read('stdout', stdout as Readable);
    return { clock, pieces, output, says: (text: string) => void stdout.emit('data', Buffer.from(text)) };
  };

  it('is one line, in however many pieces it is read while it is written', () => {
    const { clock, pieces, says } = reading();
    says('one\ntw');
    clock.advance(400); // Longer than what was read is kept before it is written down.
    says('o');
    clock.advance(400);
    says('\n');
    clock.advance(1_000);
    expect(pieces).toEqual(['one\n', 'two\n']);
  });

  it('is shown before it ends where nothing more comes for half a second', () => {
    const { clock, pieces, output, says } = reading();
    says('Name? ');
    clock.advance(499);
    expect(pieces).toEqual([]);
    clock.advance(1);
    expect(pieces).toEqual(['Name? ']);
    says('Ann');
    output.end();
    expect(pieces).toEqual(['Name? ', '+Ann']);
  });
});

describe('what a command writes', () => {
  it('is all there, to the last byte, when it exits right after it wrote it [C-081]', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const line = 'x'.repeat(99);
    const program = `process.stdout.write('${line}\\n'.repeat(105_000), () => process.exit(0)); `;
    const { ref } = await begin(adapter, folder, { node: program });
    const end = await endOfJob(adapter, ref);
    expect(end).toMatchObject({ result: { structuredContent: { stdoutBytes: 10_500_000, exitCode: 0 } } });
    const log = await logOf(adapter, ref);
    expect(log.length).toBe(105_000);
    expect(log.every(({ text }) => text === line)).toBe(true);
  });

  it('is waited for where somebody else still writes it, and cut off by no signal [C-081]', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const late = await begin(adapter, folder, { sh: '(sleep 2; echo late) & echo early' });
    const killed = await begin(adapter, folder, { sh: 'echo before; kill -9 $$' });
    expect(textOf(await endOfJob(adapter, late.ref))).toContain('early\nlate');
    const end = await endOfJob(adapter, killed.ref);
    expect(end).toMatchObject({
      outcome: 'error',
      result: { structuredContent: { exitCode: null, signal: 'SIGKILL' } },
    });
    expect(textOf(end)).toContain('before\nkilled by SIGKILL');
  });

  it('keeps nobody waiting who writes a lot to stderr before anything else [C-105]', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const program = `
      const { writeSync } = require('node:fs');
      const block = 'e'.repeat(1023) + '\\n';
      for (let n = 0; n < 10240; n += 1) writeSync(2, block);
      for (let n = 0; n < 100; n += 1) { writeSync(1, 'out ' + n + '\\n'); writeSync(2, block); }`;
    const { ref } = await begin(adapter, folder, { node: program });
    expect(await endOfJob(adapter, ref)).toMatchObject({
      outcome: 'ok',
      result: { structuredContent: { stderrBytes: 10_340 * KIB } },
    });
    const out = (await logOf(adapter, ref)).filter(({ stream }) => stream === 'stdout');
    expect(texts(out)).toEqual(Array.from({ length: 100 }, (_, n) => `out ${n}`));
  });

  it('is kept with its beginning and its end where it is too much, and the result shows both [C-080]', async () => {
    const folder = jobsFolder();
    const limits = { headBytes: 64 * KIB, tailBytes: 512 * KIB, resultBytes: 4 * KIB };
    const adapter = adapterIn(folder, { limits });
    const program = `
      const { writeSync } = require('node:fs');
      for (let n = 0; n < 1_000_000; n += 1000) {
        writeSync(1, Array.from({ length: 1000 }, (_, at) => 'line ' + (n + at) + ' and what it is about, which is fifty letters\\n').join(''));
      }
      console.error('the last error'); process.exit(2);`;
    const { ref } = await begin(adapter, folder, { node: program });
    const end = await endOfJob(adapter, ref);
    expect(keptBytes(join(folder, ref))).toBeLessThanOrEqual(600 * KIB);
    const log = texts(await logOf(adapter, ref));
    expect(log[0]).toBe('line 0 and what it is about, which is fifty letters');
    expect(log.at(-2)).toContain('line 999999');
    expect(log.filter((text) => /^… \d+ bytes of the output were dropped/.test(text)).length).toBe(1);
    const text = textOf(end);
    expect(text.length).toBeLessThan(5 * KIB);
    expect(text).toMatch(/^line 0 /);
    expect(text).toContain('the rest is left out here; all of it is in the log');
    expect(text).toContain('line 999999');
    expect(text).toContain('the last error\n');
    expect(text).toContain('exit code 2');
    const { content } = (end as unknown as { result: { content: object[] } }).result;
    expect(content.at(-1)).toMatchObject({ type: 'resource_link', uri: `longcall://tasks/tsk_${ref}/log` });
  });

  it('has one line of many megabytes cut, and what comes after it whole [C-080]', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const program = `process.stdout.write('é'.repeat(10_000_000) + '\\nnext\\n')`;
    const { ref } = await begin(adapter, folder, { node: program });
    const end = await endOfJob(adapter, ref);
    expect(end).toMatchObject({ result: { structuredContent: { stdoutBytes: 20_000_006 } } });
    const log = texts(await logOf(adapter, ref));
    expect(log[0]).toMatch(/^é{20000,}$/);
    expect(log.slice(1)).toEqual(['… (the rest of this line is too long to be kept here)', 'next']);
    expect(textOf(end)).not.toContain('\uFFFD');
  });

  it('may be anything: NUL, UTF-16, and what is no text [C-078]', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const program = `
      process.stdout.write(Buffer.from('a\\0b\\n'));
      process.stdout.write(Buffer.from('wide\\n', 'utf16le'));
      process.stdout.write(Buffer.from([0xff, 0xfe, 0x80, 10]));`;
    const { ref } = await begin(adapter, folder, { node: program });
    expect(await endOfJob(adapter, ref)).toMatchObject({ outcome: 'ok' });
    expect(texts(await logOf(adapter, ref))).toEqual(['a\0b', 'w\0i\0d\0e\0', '\0\uFFFD\uFFFD\uFFFD']);
  });

  it('is kept with its colours, and shown in the result without', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const { ref } = await begin(adapter, folder, {
      node: `process.stdout.write('10%\\r50%\\r\\x1b[31mred\\x1b[0m\\n')`,
    });
    expect(textOf(await endOfJob(adapter, ref))).toMatch(/^red\nexit code 0/);
    expect(texts(await logOf(adapter, ref))).toEqual(['10%\r50%\r\x1b[31mred\x1b[0m']);
  });
});
