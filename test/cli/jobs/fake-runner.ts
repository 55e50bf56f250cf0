import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** What a runner does with a question; the test says. */
export type Takes = (question: unknown, response: ServerResponse, request: IncomingMessage) => void;

/** A runner of a job, as far as its command sees one. Ends with the test. */
export async function fakeRunner(takes: Takes) {
  const asked: { method: string; path: string; authorization: string; question: unknown }[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const question = JSON.parse(await text(request)) as unknown;
    asked.push({ method, path, authorization: headers.authorization ?? '', question });
    takes(question, response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ask`;
  return { asked, env: { LONGCALL_ASK_URL: url, LONGCALL_ASK_TOKEN: 't0ken' } };
}

/** Answers at once. */
export const answering =
  (answer: object): Takes =>
  (_question, response) =>
    void response.writeHead(200).end(JSON.stringify(answer));
