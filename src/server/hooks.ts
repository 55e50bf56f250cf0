import type { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';

/** Takes a request that a service sends of its own accord. @returns `undefined`: nobody here takes it, or it is not authentic */
export type TakeHook = (tool: string, request: Request) => Promise<number | undefined>;

/** Hooks say little; larger ones are refused before they are read. */
const MAX_BYTES = 1024 * 1024;

/**
 * `POST /hooks/{tool}`, beside MCP. Tokens, Host and Origin are not looked at: a service has none of ours, comes by whichever name
 * its way here has, and a web page that sends such a request can do nothing by that, since all that counts is a signature that it
 * cannot make. What is not authentic is answered as what is not there, so that nobody learns which tools there are.
 */
export function serveHooks(app: Hono, take: TakeHook): void {
  const tooLarge = (): Response => new Response(null, { status: 413 });
  app.post('/hooks/:tool', bodyLimit({ maxSize: MAX_BYTES, onError: tooLarge }), async (context) => {
    const taken = await take(context.req.param('tool'), context.req.raw);
    return new Response(null, { status: taken === undefined ? 404 : 202 });
  });
}
