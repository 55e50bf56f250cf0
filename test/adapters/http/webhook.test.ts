import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type HttpWebhookOptions, httpTool } from '../../../src/adapters/index.ts';
import { ManualClock } from '../../../src/testing/index.ts';
import type { FakeRequest } from '../../fakes/fake-service.ts';
import { GenericService } from '../../fakes/generic-service.ts';
import { reaches, settle, someTasks, start } from '../../support/engine.ts';
import { aContext, serving } from './support.ts';

const SECRET = 'it is signed with this';
const KEY = 'k'.repeat(24);
const BODY = '{"run":{"id":7}}';

function signed(text: string, encoding: 'hex' | 'base64' = 'hex', secret: string | Uint8Array = SECRET): string {
  return createHmac('sha256', secret).update(text).digest(encoding);
}

function reader(options: Partial<HttpWebhookOptions> = {}, clock = new ManualClock()) {
  const adapter = httpTool({ start: { url: 'https://api.test/' }, webhook: { secret: SECRET, ...options }, clock });
  return (headers: Record<string, string>, { query = `?job=${KEY}`, body = BODY, method = 'POST' } = {}) => {
    const request = { method, headers, ...(method === 'POST' && { body }) };
    return adapter.webhook?.(new Request(`https://gateway.test/hooks/build${query}`, request));
  };
}

describe('a webhook', () => {
  it('is about the job in its URL where the HMAC of its body is right, in hex or base64, after a prefix', async () => {
    expect(await reader()({ 'x-signature-256': signed(BODY) })).toEqual([{ idempotencyKey: KEY }]);
    const github = reader({ header: 'X-Hub-Signature-256', prefix: 'sha256=' });
    expect(await github({ 'x-hub-signature-256': `sha256=${signed(BODY)}` })).toEqual([{ idempotencyKey: KEY }]);
    const other = reader({ encoding: 'base64' });
    expect(await other({ 'x-signature-256': signed(BODY, 'base64') })).toEqual([{ idempotencyKey: KEY }]);
  });

  it.each<[string, Record<string, string>, object?]>([
    ['no signature', {}],
    ['an empty one', { 'x-signature-256': '' }],
    ['that of another secret', { 'x-signature-256': signed(BODY, 'hex', 'another') }],
    ['that of another body', { 'x-signature-256': signed(BODY) }, { body: `${BODY} ` }],
    ['a piece of it', { 'x-signature-256': signed(BODY).slice(0, 62) }],
    ['more than it', { 'x-signature-256': `${signed(BODY)}00` }],
    ['another encoding', { 'x-signature-256': signed(BODY, 'base64') }],
    ['another prefix', { 'x-signature-256': `sha256=${signed(BODY)}` }],
    ['another method', { 'x-signature-256': signed('') }, { method: 'GET' }],
  ])('means nothing with %s', async (_what, headers, request) => {
    expect(await reader()(headers, request)).toEqual([]);
  });

  it('is about what its body says where its URL says nothing, and else about nothing', async () => {
    const read = reader({ match: { answer: '$.id', hook: '$.run.id' } });
    const headers = { 'x-signature-256': signed(BODY) };
    expect(await read(headers, { query: '' })).toEqual([{ ref: { id: '7' } }]);
    expect(await read(headers, { query: '?job=../../x' })).toEqual([{ ref: { id: '7' } }]);
    expect(await reader()(headers, { query: '' })).toEqual([{}]);
  });

  it('must have been sent just now where it says when, by its own signature', async () => {
    const clock = new ManualClock();
    const read = reader({ timestamp: { header: 'x-at', toleranceMs: 60_000 } }, clock);
    const at = (ms: number, shown = ms) => {
      const [seconds, text] = [ms, shown].map((one) => String(Math.round((clock.now() + one) / 1_000)));
      return read({ 'x-at': text as string, 'x-signature-256': signed(`${seconds}.${BODY}`) });
    };
    expect(await at(-60_000)).toHaveLength(1);
    expect(await at(60_000)).toHaveLength(1);
    expect(await at(-61_000)).toEqual([]);
    expect(await at(61_000)).toEqual([]);
    expect(await at(-90_000, 0)).toEqual([]); // The time is signed too.
    expect(await read({ 'x-at': 'now', 'x-signature-256': signed(`now.${BODY}`) })).toEqual([]);
    expect(await read({ 'x-signature-256': signed(`.${BODY}`) })).toEqual([]);
  });

  it('can be one of Standard Webhooks: several signatures, over id, time and body', async () => {
    const clock = new ManualClock();
    const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
    const read = reader(
      {
        secret,
        header: 'webhook-signature',
        prefix: 'v1,',
        encoding: 'base64',
        timestamp: { header: 'webhook-timestamp' },
        signed: '{header.webhook-id}.{timestamp}.{body}',
      },
      clock,
    );
    const time = String(clock.now() / 1_000);
    const right = signed(`msg_1.${time}.${BODY}`, 'base64', secret);
    const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': time };
    expect(await read({ ...headers, 'webhook-signature': `v1,AAAA v1,${right}` })).toHaveLength(1);
    expect(await read({ ...headers, 'webhook-id': 'msg_2', 'webhook-signature': `v1,${right}` })).toEqual([]);
  });

  it('of the job comes to the URL that its start was sent, and has its task look', async () => {
    const clock = new ManualClock();
    const service = await serving(new GenericService(clock));
    service.retryAfter = '3000';
    const { tasks } = someTasks({ clock });
    const start_ = { url: `${service.origin}/builds`, body: { callback: { job: 'webhook' } } } as const;
    const webhook = { secret: SECRET, url: 'https://gateway.test/hooks/build?of=us' };
    tasks.registerJob('build', {}, httpTool({ start: start_, webhook }));
    try {
      const { taskId } = await start(tasks, 'build');
      await service.until('start');
      await settle(40);
      const [begun] = service.about('start') as [FakeRequest];
      const { callback } = begun.body as { callback: string };
      expect(callback).toMatch(/^https:\/\/gateway\.test\/hooks\/build\?of=us&job=[\w-]{24}$/);
      service.finish({ artifact: 'a' });
      const over = reaches(tasks, taskId, 'completed');
      const hook = (signature: string) =>
        new Request(callback, { method: 'POST', body: BODY, headers: { 'x-signature-256': signature } });
      expect(await tasks.webhook('build', hook(signed('forged')))).toBeUndefined();
      expect(service.about('status')).toEqual([]);
      expect(await tasks.webhook('build', hook(signed(BODY)))).toBe(1);
      await over; // No time has passed.
      expect(service.about('status')).toHaveLength(1);
    } finally {
      await tasks.close();
    }
  });

  it('may call the job what its start was answered with', async () => {
    const service = await serving(new GenericService(new ManualClock()));
    const adapter = httpTool({
      start: { url: `${service.origin}/builds` },
      webhook: { secret: SECRET, match: { answer: '$.id', hook: '$.run.id' } },
    });
    const how = { status: 202, headers: { location: '/operations/op-1' }, body: { id: 7 } };
    service.faults = [{ about: 'start', when: 'after', how }];
    expect((await adapter.start({}, aContext())).ref).toMatchObject({ id: '7' });
  });
});
