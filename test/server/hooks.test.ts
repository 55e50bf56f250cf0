import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { serveHooks } from '../../src/server/hooks.ts';

function hooks() {
  const taken: [string, string][] = [];
  const app = new Hono();
  serveHooks(app, async (tool, request) => {
    taken.push([tool, await request.text()]);
    return tool === 'build' ? 0 : undefined;
  });
  const post = (path: string, body: string | ReadableStream) =>
    app.request(path, { method: 'POST', body, duplex: 'half' } as RequestInit);
  return { app, taken, post };
}

describe('the route of hooks', () => {
  it('takes a request by the name of its tool, and tells nobody why it takes one not', async () => {
    const { app, taken, post } = hooks();
    const answers = [await post('/hooks/build', '{"a":1}'), await post('/hooks/other', '{}')];
    expect(answers.map(({ status }) => status)).toEqual([202, 404]);
    expect(taken).toEqual([
      ['build', '{"a":1}'],
      ['other', '{}'],
    ]);
    for (const path of ['/hooks/', '/hooks/build/more']) expect((await post(path, '{}')).status).toBe(404);
    expect((await app.request('/hooks/build')).status).toBe(404);
    expect(taken).toHaveLength(2);
  });

  it('reads no more than a hook would say, whether it tells its length or not', async () => {
    const { taken, post } = hooks();
    const large = 'x'.repeat(1024 * 1024 + 1);
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(large));
        controller.close();
      },
    });
    const app = [await post('/hooks/build', large), await post('/hooks/build', stream)];
    expect(app.map(({ status }) => status)).toEqual([413, 413]);
    expect(taken).toEqual([]);
  });
});
