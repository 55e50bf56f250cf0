import { connect } from 'node:net';
import type { Problem } from './judge.ts';
import { privateText } from './judge.ts';
import type { Raw } from './steps.ts';
import { realTime } from './turns.ts';
import type { World } from './world.ts';

/** What a server, or the parser of Node in front of it, may say to bytes of any kind. */
const STATUSES = new Set([100, 200, 202, 204, 400, 401, 403, 404, 405, 406, 408, 411, 413, 414, 415, 417, 429, 431]);
/** For an answer to come. Where the request is not whole, none does. */
const WAIT_MS = 80;

/** Bytes over a connection of their own; afterwards the server has to serve as ever. */
export async function sendRaw(
  { chunks, afterwards }: Raw,
  world: World,
): Promise<{ text: string; problems: Problem[] }> {
  const { port } = world.served;
  if (port === undefined) throw new Error(`${world.target.name} has no sockets`);
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let closed = false;
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => {}); // As when a server hangs up.
  socket.on('close', () => {
    closed = true;
  });
  const [, body = ''] = (await world.fill(chunks.join(''))).split(/\r?\n\r?\n/, 2);
  const lengths = [0, 1, 1_000, -3].map((more): [string, string] => {
    return [`length${more > 0 ? `+${more}` : more || ''}`, String(Math.max(0, body.length + more))];
  });
  for (const chunk of chunks) {
    socket.write(Buffer.from(await world.fill(chunk, Object.fromEntries(lengths)), 'latin1'));
    await realTime(2);
  }
  if (afterwards === 'half-close') socket.end();
  if (afterwards !== 'cut') await realTime(WAIT_MS, () => closed || text !== '');
  await realTime(5, () => closed);
  socket.destroy();
  await realTime(2_000, () => closed);
  return { text, problems: [...responseProblems(text), ...(await aliveProblems(world))] };
}

function responseProblems(text: string): Problem[] {
  const problems = privateText(text);
  if (text !== '' && !text.startsWith('HTTP/1.1 ')) {
    problems.push({ broken: 'answer', sentence: `what came is no response: ${text.slice(0, 200)}` });
  }
  for (const [, status] of text.matchAll(/^HTTP\/1\.1 (\d+)/gm)) {
    if (STATUSES.has(Number(status))) continue;
    problems.push({ broken: 'status', sentence: `bytes were answered with HTTP ${status}: ${text.slice(0, 500)}` });
  }
  return problems;
}

async function aliveProblems(world: World): Promise<Problem[]> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'alive', method: 'ping' });
  const [as] = world.target.speakers;
  const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body });
  try {
    const response = await world.served.fetch(request, as as never);
    const answer = await response.text();
    if (response.status === 200 && answer.includes('"alive"')) return [];
    return [{ broken: 'answer', sentence: `after those bytes a ping gets HTTP ${response.status} ${answer}` }];
  } catch (error) {
    return [{ broken: 'failed', sentence: `after those bytes a ping fails: ${String(error)}` }];
  }
}
