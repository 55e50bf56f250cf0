import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/index.ts';
import { MessageLines } from '../../../src/gateway/upstreams/message-lines.ts';

interface Heard {
  messages: JsonObject[];
  noise: string[];
  oversized: object[];
}

function read(chunks: readonly (string | Buffer)[], maxBytes = 1_000_000): Heard {
  const heard: Heard = { messages: [], noise: [], oversized: [] };
  const lines = new MessageLines({
    maxBytes,
    onMessage: (message) => heard.messages.push(message),
    onRaw: () => {},
    onNoise: (line) => heard.noise.push(line),
    onOversized: (message) => heard.oversized.push(message),
  });
  for (const chunk of chunks) lines.push(Buffer.from(chunk));
  lines.end();
  return heard;
}

const answer = (id: number | string, text: string): JsonObject => ({ jsonrpc: '2.0', id, result: { text } });

describe('the messages of a server on standard output', () => {
  it('are the same in whatever pieces they come, letters of several bytes cut in two included', () => {
    const someMessages = fc.array(fc.tuple(fc.integer(), fc.string({ unit: 'grapheme' })), { maxLength: 6 });
    const someCuts = fc.array(fc.nat(), { maxLength: 12 });
    fc.assert(
      fc.property(someMessages, someCuts, fc.constantFrom('\n', '\r\n', '\n\n'), (said, cuts, end) => {
        const messages = said.map(([id, text]) => answer(id, text));
        const bytes = Buffer.from(messages.map((message) => `${JSON.stringify(message)}${end}`).join(''));
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
        const chunks = places.slice(1).map((place, index) => bytes.subarray(places[index], place));
        expect(read(chunks)).toEqual({ messages, noise: [], oversized: [] });
      }),
    );
  });

  it('are read past banners, prompts, logs in JSON and half a message at the end [C-104]', () => {
    const message = answer(1, 'here');
    const heard = read([
      '\uFEFFWelcome!\r\n{"level":30,"msg":"up"}\n[]\n42\n',
      `> ${JSON.stringify(message)}\n`,
      JSON.stringify([answer(2, 'two'), answer(3, 'three')]),
      '\n{"jsonrpc":"2.0","id":4,"res',
    ]);
    expect(heard.messages).toEqual([message, answer(2, 'two'), answer(3, 'three')]);
    expect(heard.noise).toEqual(['Welcome!', '{"level":30,"msg":"up"}', '[]', '42', '{"jsonrpc":"2.0","id":4,"res']);
  });

  it('may end without a line feed', () => {
    expect(read([JSON.stringify(answer(1, 'last'))]).messages).toEqual([answer(1, 'last')]);
  });

  it('that are too long are told by whose they are, wherever that stands in them', () => {
    const long = 'x'.repeat(500);
    const tricks = { id: 7, text: '"id":8,{[', 'escaped\\"': '\\' };
    const said = [
      { jsonrpc: '2.0', id: 'a "quoted" one', result: { tricks, long } },
      { result: { tricks, long, list: [{ id: 9 }] }, jsonrpc: '2.0', id: 12 },
      { jsonrpc: '2.0', method: 'notifications/message', params: { tricks, long } },
      { jsonrpc: '2.0', params: { id: 1, method: 'no', long }, id: 3, method: 'roots/list' },
      { jsonrpc: '2.0', id: null, error: { code: 1, message: long } },
    ].map((message) => JSON.stringify(message));
    const heard = read([`${said.join('\n')}\n${JSON.stringify(answer(1, 'short'))}\n`], 200);
    expect(heard.oversized).toEqual([
      { bytes: said[0]?.length, id: 'a "quoted" one', method: undefined },
      { bytes: said[1]?.length, id: 12, method: undefined },
      { bytes: said[2]?.length, id: undefined, method: 'notifications/message' },
      { bytes: said[3]?.length, id: 3, method: 'roots/list' },
      { bytes: said[4]?.length, id: undefined, method: undefined },
    ]);
    expect(heard.messages).toEqual([answer(1, 'short')]);
  });

  it('are found to be too long alike, in whatever pieces they come', () => {
    const line = `${JSON.stringify({ result: { text: 'é'.repeat(300) }, jsonrpc: '2.0', id: 5 })}\n`;
    for (const size of [1, 7, 64, 1_000]) {
      const bytes = Buffer.from(line);
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(read(chunks, 100).oversized).toEqual([{ bytes: bytes.length - 1, id: 5, method: undefined }]);
    }
  });
});
