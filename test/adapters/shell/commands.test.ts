import { describe, expect, it } from 'vitest';
import { adapterIn, begin, endOfJob, jobsFolder, lineOf, logOf, run, textOf } from './support.ts';

describe('a command as a job', () => {
  it('ends with its exit code, and keeps its two streams apart', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const { ref } = await begin(adapter, folder, { sh: 'echo out; echo err >&2; printf rest; exit 3' });
    const end = await endOfJob(adapter, ref);
    expect(end).toMatchObject({
      state: 'done',
      outcome: 'error',
      result: { isError: true, structuredContent: { exitCode: 3, stdoutBytes: 8, stderrBytes: 4 } },
    });
    expect(textOf(end)).toMatch(/exit code 3 after \d/);
    const log = await logOf(adapter, ref);
    expect(log.filter(({ stream }) => stream === 'stdout').map(({ text }) => text)).toEqual(['out', 'rest']);
    expect(log.filter(({ stream }) => stream === 'stderr').map(({ text }) => text)).toEqual(['err']);
  });

  it('is no error with an exit code that the tool takes for success', async () => {
    const folder = jobsFolder();
    const end = await run(adapterIn(folder, { okCodes: [0, 1] }), folder, { sh: 'echo none found; exit 1' });
    expect(end).toMatchObject({ outcome: 'ok', result: { structuredContent: { exitCode: 1 } } });
  });

  it('gives what it printed as JSON, where that is wanted', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder, { output: 'json' });
    const end = await run(adapter, folder, { sh: `echo warning >&2; echo '{"size": 3}'` });
    expect(end).toMatchObject({ outcome: 'ok', result: { structuredContent: { size: 3 } } });
    const wrong = await run(adapter, folder, { sh: 'echo no json' });
    expect(wrong).toMatchObject({ outcome: 'error', result: { isError: true } });
    expect(textOf(wrong)).toContain('expected JSON on stdout');
  });

  it('can be read while it runs', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const { ref, context } = await begin(adapter, folder, {
      node: `console.log('FAIL one'); process.stdout.write('Password: '); setInterval(() => {}, 1000)`,
    });
    await lineOf(adapter, ref, 'FAIL one');
    await lineOf(adapter, ref, 'Password: '); // A line that does not end.
    expect(await adapter.poll(ref, context)).toMatchObject({ state: 'working' });
    await adapter.cancel?.(ref, context);
    expect(await endOfJob(adapter, ref)).toEqual({ state: 'cancelled' });
  });

  it('reads nothing, or what it is given [C-104]', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    expect(textOf(await run(adapter, folder, { sh: 'cat; echo end of input' }))).toContain('end of input');
    const program = `process.stdin.pipe(process.stdout)`;
    expect(textOf(await run(adapter, folder, { node: program, stdin: 'täxt\n' }))).toContain('täxt');
  });

  it.each([
    ['no-such-program', [], undefined, 'no-such-program: there is no such program'],
    ['/etc/passwd', [], undefined, '/etc/passwd: it may not be run'],
    ['/bin/echo', ['x'.repeat(3_000_000)], undefined, 'its arguments and its environment are too long'],
    ['/bin/echo', [], '/no/such/folder', 'the folder /no/such/folder is not there'],
  ])('says why %s cannot be started', async (file, args, cwd, message) => {
    const folder = jobsFolder();
    const command = () => ({ file, args, env: { PATH: '/bin' }, ...(cwd !== undefined && { cwd }) });
    const end = await run(adapterIn(folder, { command }), folder, { sh: '' });
    expect(end).toMatchObject({ outcome: 'error', result: { isError: true } });
    expect(textOf(end)).toContain(message);
  });

  it.each([
    [{ file: '', args: [] }, 'file: expected a program'],
    [{ file: 'echo', args: ['a\0b'] }, 'args[0]: a NUL character'],
    [{ file: 'echo', args: [], cwd: 'here' }, 'cwd: expected an absolute path'],
    [{ file: 'echo', args: [], env: { 'A=B': '' } }, 'env "A=B": cannot be a variable'],
  ])('is refused where it cannot be one: %j', async (command, message) => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder, { command: () => ({ env: {}, ...command }) });
    await expect(begin(adapter, folder, { sh: '' })).rejects.toThrow(message);
  });

  it('gets the environment that it is given and no other', async () => {
    const folder = jobsFolder();
    const command = () => ({ file: '/usr/bin/env', args: [], env: { ONE: '1' } });
    const { ref } = await begin(adapterIn(folder, { command }), folder, { sh: '' });
    await endOfJob(adapterIn(folder), ref);
    const names = (await logOf(adapterIn(folder), ref)).map(({ text }) => text.split('=')[0]);
    expect(names.sort()).toEqual(['LONGCALL_ASK_TOKEN', 'LONGCALL_ASK_URL', 'LONGCALL_JOB', 'ONE']);
  });
});

describe('what a command may take', () => {
  it('is ended when its time is over, wherever its server is [C-094]', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder, { limits: { timeoutMs: 300, graceMs: 100 } });
    const end = await run(adapter, folder, { node: `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)` });
    expect(end).toMatchObject({ outcome: 'error', result: { structuredContent: { stoppedBy: 'timeout' } } });
    expect(textOf(end)).toContain('took longer than its limit of 0.3 s');
    expect(textOf(end)).toContain('1 of its processes did not end in time and were killed');
  });

  it('is ended when it writes more than it may', async () => {
    const folder = jobsFolder();
    const end = await run(adapterIn(folder, { limits: { maxOutputBytes: 100_000 } }), folder, { sh: 'yes' });
    expect(end).toMatchObject({ outcome: 'error', result: { structuredContent: { stoppedBy: 'output' } } });
  });
});

describe('secrets', () => {
  it('are nowhere in what is kept, also where they are written in pieces', async () => {
    const folder = jobsFolder();
    const secret = 'tøp-sécret/1';
    const adapter = adapterIn(folder, { secrets: [secret, 'line one\nline two'] });
    const program = `
      const bytes = Buffer.from(${JSON.stringify(secret)});
      process.stdout.write(bytes.subarray(0, 3));
      setTimeout(() => {
        process.stdout.write(Buffer.concat([bytes.subarray(3), Buffer.from('!\\n' + encodeURIComponent(${JSON.stringify(secret)}) + '\\nline two\\n')]));
        process.stdout.write('tøp-s');
      }, 200);`;
    const { ref } = await begin(adapter, folder, { node: program });
    const end = await endOfJob(adapter, ref);
    expect((await logOf(adapter, ref)).map(({ text }) => text)).toEqual([
      '[redacted]!',
      '[redacted]',
      '[redacted]',
      'tøp-s',
    ]);
    expect(textOf(end)).not.toContain('sécret');
  });
});
