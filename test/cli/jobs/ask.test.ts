import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AskOptions, ask } from '../../../src/cli/jobs/ask.ts';
import type { JsonObject } from '../../../src/core/index.ts';
import { scratchFolder } from '../../support/stores.ts';
import { kept, longcall } from '../setup/command.ts';
import { answering, fakeRunner, type Takes } from './fake-runner.ts';

async function asked(options: Partial<AskOptions>, takes: Takes) {
  const { env, asked: requests } = await fakeRunner(takes);
  const { output, text } = kept();
  const code = await ask({ message: 'Deploy?', ...options }, env, output);
  return { code, ...text, requests };
}

const accepted = (content: JsonObject) => answering({ action: 'accept', content });

describe('longcall ask', () => {
  it('asks with the token of its job, and prints the answer as JSON', async () => {
    const { requests, ...rest } = await asked(
      { field: ['branch', 'count:integer', 'mode?:fast,slow'], timeout: 5_000 },
      accepted({ branch: 'main', count: 3 }),
    );
    expect(rest).toEqual({ code: 0, stdout: '{"branch":"main","count":3}\n', stderr: '' });
    const schema = {
      type: 'object',
      properties: {
        branch: { type: 'string' },
        count: { type: 'integer' },
        mode: { type: 'string', enum: ['fast', 'slow'] },
      },
      required: ['branch', 'count'],
    };
    const question = { message: 'Deploy?', schema, timeoutMs: 5_000 };
    expect(requests).toEqual([{ method: 'POST', path: '/ask', authorization: 'Bearer t0ken', question }]);
  });

  it('prints only the text of a single field, or of the one that is named', async () => {
    expect(await asked({ field: ['branch'] }, accepted({ branch: 'a b\n"c"' }))).toMatchObject({
      code: 0,
      stdout: 'a b\n"c"\n',
    });
    const fields = { field: ['a', 'n:number', 'left?'] };
    expect((await asked({ ...fields, value: 'n' }, accepted({ a: 'x', n: 1.5 }))).stdout).toBe('1.5\n');
    expect((await asked({ ...fields, value: 'left' }, accepted({ a: 'x', n: 1.5 }))).stdout).toBe('');
  });

  it('takes a schema as JSON or out of a file, and sends it as it is', async () => {
    const schema = { type: 'object', properties: { on: { type: 'boolean', title: 'On?' } }, required: ['on'] };
    const folder = scratchFolder();
    onTestFinished(folder.remove);
    const schemaFile = join(folder.path, 'schema.json');
    writeFileSync(schemaFile, JSON.stringify(schema));
    for (const options of [{ schema: JSON.stringify(schema) }, { schemaFile }]) {
      const { stdout, requests } = await asked(options, accepted({ on: true }));
      expect([stdout, requests[0]?.question]).toEqual(['true\n', { message: 'Deploy?', schema }]);
    }
  });

  it('asks for a yes where it has no fields, and prints nothing', async () => {
    const { requests, ...rest } = await asked({}, accepted({}));
    expect(rest).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(requests[0]?.question).toEqual({ message: 'Deploy?' });
  });

  it.each([
    ['decline', 4, 'declined'],
    ['cancel', 4, 'dismissed'],
    ['expired', 124, 'nobody answered in time'],
  ])('ends with a code of its own when the answer is %s', async (action, code, said) => {
    const takes = answering({ action });
    expect(await asked({ field: ['a'] }, takes)).toMatchObject({
      code,
      stdout: '',
      stderr: expect.stringContaining(said),
    });
    expect(await asked({ field: ['a'], json: true }, takes)).toMatchObject({
      code,
      stdout: `{"action":"${action}"}\n`,
    });
  });

  it('waits while the runner says nothing but line feeds', async () => {
    const takes: Takes = (_question, response) => {
      response.writeHead(200).flushHeaders();
      response.write('\n\n', () => response.end('{"action":"accept","content":{"a":"late"}}\n'));
    };
    expect(await asked({ field: ['a'] }, takes)).toMatchObject({ code: 0, stdout: 'late\n' });
  });

  it('says what the runner refuses, and whose fault that is', async () => {
    const refusing =
      (status: number, error?: string): Takes =>
      (_question, response) =>
        void response.writeHead(status).end(error === undefined ? 'no' : JSON.stringify({ error }));
    const bad = asked({ schema: '{"type":"array"}' }, refusing(400, 'schema: expected an object'));
    await expect(bad).rejects.toMatchObject({
      message: 'the question is refused: schema: expected an object',
      exitCode: 2,
    });
    await expect(asked({}, refusing(429, 'too many open questions'))).rejects.toMatchObject({ exitCode: 1 });
    await expect(asked({}, refusing(401))).rejects.toMatchObject({ message: 'the question is refused: HTTP 401' });
  });

  it('says so when the runner dies before it answered, or says nothing sensible', async () => {
    const dying = asked({}, (_question, response) => {
      response.writeHead(200).write('\n', () => response.destroy());
    });
    await expect(dying).rejects.toMatchObject({
      message: expect.stringMatching(/^the runner of this job hung up/),
      exitCode: 1,
    });
    await expect(asked({}, answering({ action: 'perhaps' }))).rejects.toThrow('gave no answer');
    await expect(asked({}, (_question, response) => void response.writeHead(200).end())).rejects.toThrow(
      'gave no answer',
    );
    const nobody = { LONGCALL_ASK_URL: 'http://127.0.0.1:1/ask', LONGCALL_ASK_TOKEN: 't' };
    await expect(ask({ message: 'x' }, nobody, kept().output)).rejects.toThrow('cannot be reached');
  });

  it('gives its token to nobody but this machine', async () => {
    for (const url of [
      'http://192.0.2.1/ask',
      'http://localhost:1/ask',
      'https://127.0.0.1/ask',
      'http://127.0.0.1.example/ask',
      'nonsense',
    ]) {
      const env = { LONGCALL_ASK_URL: url, LONGCALL_ASK_TOKEN: 't0ken' };
      await expect(ask({ message: 'x' }, env, kept().output)).rejects.toThrow(
        /^LONGCALL_ASK_URL: expected an http: address/,
      );
    }
  });

  it('names the variable that is missing outside of a job', async () => {
    const { LONGCALL_ASK_URL, LONGCALL_ASK_TOKEN } = process.env;
    expect([LONGCALL_ASK_URL, LONGCALL_ASK_TOKEN]).toEqual([undefined, undefined]);
    const { code, stderr } = await longcall('ask', '--message', 'x');
    expect([code, stderr]).toEqual([
      2,
      'longcall: ask is for commands that run as a task: the environment has no LONGCALL_ASK_URL\n',
    ]);
    await expect(ask({ message: 'x' }, { LONGCALL_ASK_URL: 'http://127.0.0.1:1/' }, kept().output)).rejects.toThrow(
      'LONGCALL_ASK_TOKEN',
    );
  });

  it.each<[string, Partial<AskOptions>, string]>([
    ['two kinds of fields', { field: ['a'], schema: '{}' }, 'one of them'],
    ['a schema that is none', { schema: '[1]' }, '--schema: expected a JSON object'],
    ['a file that is not there', { schemaFile: '/nowhere/s.json' }, '--schema-file /nowhere/s.json'],
    ['a field of no type', { field: ['a:date'] }, '--field: expected NAME'],
    ['a field of no name', { field: [':string'] }, '--field: expected NAME'],
    ['a field twice', { field: ['a', 'a:number'] }, '--field a: given twice'],
    ['a value that is no field', { field: ['a'], value: 'b' }, '--value b: the question has a'],
    ['a value without fields', { value: 'b' }, 'no fields'],
    ['no words', { message: ' ' }, '--message'],
  ])('refuses %s before it asks', async (_what, options, message) => {
    const env = { LONGCALL_ASK_URL: 'http://127.0.0.1:1/ask', LONGCALL_ASK_TOKEN: 't' };
    const refused = ask({ message: 'x', ...options }, env, kept().output);
    await expect(refused).rejects.toMatchObject({ message: expect.stringContaining(message), exitCode: 2 });
  });
});
