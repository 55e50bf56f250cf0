import { describe, expect, it } from 'vitest';
import { type JobSnapshot, type Question, questionText } from '../../../src/core/index.ts';
import { adapterIn, begin, contextOf, endOfJob, jobsFolder, textOf } from './support.ts';

type Adapter = ReturnType<typeof adapterIn>;

/** Asks as any program can, and says what came back. */
const ask = (body: object, more = ''): string => `
  const headers = { authorization: 'Bearer ' + process.env.LONGCALL_ASK_TOKEN, 'content-type': 'application/json' };
  const ask = (body, extra = {}) => fetch(process.env.LONGCALL_ASK_URL, { method: 'POST', headers, body: JSON.stringify(body).replace('(long)', 'x'.repeat(300_000)), ...extra });
  const say = async (response) => console.log(response.status, JSON.stringify(await response.json()));
  (async () => { ${more === '' ? `await say(await ask(${JSON.stringify(body)}))` : more} })();`;

const SCHEMA = { type: 'object', properties: { squash: { type: 'boolean' } }, required: ['squash'] };

async function asked(adapter: Adapter, ref: string, count = 1): Promise<Record<string, Question>> {
  for (;;) {
    const news = adapter.changed?.(ref, contextOf(ref));
    const snapshot: JobSnapshot = await adapter.poll(ref, contextOf(ref));
    if (snapshot.state !== 'working' && snapshot.state !== 'input') throw new Error(`over: ${textOf(snapshot)}`);
    const open = snapshot.state === 'input' ? (snapshot.questions ?? {}) : {};
    if (Object.keys(open).length === count) return open;
    await news;
  }
}

describe('a command that asks', () => {
  it('gets its answer, given by a process that did not see the question come', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const { ref, context } = await begin(adapter, folder, {
      node: ask({ message: 'Open the pull request?', schema: SCHEMA }),
    });
    const open = await asked(adapter, ref);
    expect(Object.values(open)).toEqual([{ kind: 'form', message: 'Open the pull request?', schema: SCHEMA }]);
    const [key = ''] = Object.keys(open);
    const answer = { action: 'accept', content: { squash: true } } as const;
    await adapterIn(folder).answer?.(ref, key, answer, context);
    await adapterIn(folder).answer?.(ref, key, answer, context);
    expect(textOf(await endOfJob(adapter, ref))).toContain('200 {"action":"accept","content":{"squash":true}}');
  });

  it('is told when its time for an answer is over', async () => {
    const folder = jobsFolder();
    const end = await endOfJob(
      adapterIn(folder),
      (await begin(adapterIn(folder), folder, { node: ask({ message: 'Now?', timeoutMs: 50 }) })).ref,
    );
    expect(textOf(end)).toContain('200 {"action":"expired"}');
  });

  it('takes its question back by hanging up', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const program = ask(
      {},
      `
      const stop = new AbortController();
      process.on('SIGUSR2', () => stop.abort());
      const response = await ask({ message: 'Still there?' }, { signal: stop.signal });
      console.log('pid ' + process.pid);
      await response.text().catch(() => {});
      await say(await ask({ message: 'And now?' }));`,
    );
    const { ref, context } = await begin(adapter, folder, { node: program });
    await asked(adapter, ref);
    let pid: string | undefined;
    while (pid === undefined) {
      const news = adapter.changed?.(ref, context);
      const page = await adapter.logs?.(ref, undefined, context);
      pid = page?.lines.flatMap(({ text }) => /^pid (\d+)$/.exec(text)?.[1] ?? [])[0];
      await news;
    }
    process.kill(Number(pid), 'SIGUSR2');
    for (;;) {
      const open = await asked(adapter, ref);
      const [key] = Object.entries(open).find(([, question]) => questionText(question) === 'And now?') ?? [];
      if (key === undefined) continue;
      await adapter.answer?.(ref, key, { action: 'decline' }, context);
      break;
    }
    expect(textOf(await endOfJob(adapter, ref))).toContain('200 {"action":"decline"}');
  });

  it.each([
    [{ schema: SCHEMA }, 400, 'message: expected a text'],
    [
      { message: 'x', schema: { type: 'object', properties: { deep: { type: 'object' } } } },
      400,
      'schema.deep must be',
    ],
    [{ message: 'x', timeoutMs: 0 }, 400, 'timeoutMs: expected milliseconds from 1'],
    [{ message: 'x', timeout: 5 }, 400, 'timeout: unknown'],
    [{ message: 'x', schema: '(long)' }, 413, 'expected at most'],
  ])('is told what is wrong with a question %#', async (body, status, error) => {
    const folder = jobsFolder();
    const end = await endOfJob(adapterIn(folder), (await begin(adapterIn(folder), folder, { node: ask(body) })).ref);
    expect(textOf(end)).toContain(`${status} {"error":"${error}`);
  });

  it('is refused without the token of its job, which is in nothing that it prints', async () => {
    const folder = jobsFolder();
    const program = ask(
      {},
      `
      await say(await ask({ message: 'x' }, { headers: { authorization: 'Bearer wrong' } }));
      await say(await ask({ message: 'x' }, { headers: {} }));
      console.log(process.env.LONGCALL_ASK_TOKEN);`,
    );
    const text = textOf(
      await endOfJob(adapterIn(folder), (await begin(adapterIn(folder), folder, { node: program })).ref),
    );
    expect(text.match(/^401 /gm)?.length).toBe(2);
    expect(text).toContain('[redacted]');
  });
});
