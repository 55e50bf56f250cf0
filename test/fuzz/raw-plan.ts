import type { Chance } from '../sim/chance.ts';
import { mangled } from './mutations.ts';
import type { Raw, Send } from './steps.ts';

/** A message as bytes on a socket, with something wrong in how HTTP carries it. */
export function rawOf(send: Send, chance: Chance): Raw {
  const body = send.body ?? '';
  const lines = Object.entries({ host: '127.0.0.1', ...send.headers }).map(([name, value]) => `${name}: ${value}`);
  const request = { line: `${send.method} /mcp HTTP/1.1`, lines, body };
  const length = Buffer.byteLength(body, send.binary ? 'latin1' : 'utf8');
  let text = chance.pick(games)(request, length, chance);
  if (chance.odds(0.15)) text = mangled(text, chance);
  else if (!send.binary) text = Buffer.from(text, 'utf8').toString('latin1');
  const afterwards = chance.weighted([
    ['wait', 5],
    ['cut', 3],
    ['half-close', 2],
  ] as const);
  return { do: 'raw', chunks: pieces(text, chance), afterwards: afterwards ?? 'wait' };
}

/** The message on a line of stdin that is none, or not whole, or more than one. */
export function noiseOf({ body = '', binary }: Send, chance: Chance): Raw {
  const bytes = binary ? body : Buffer.from(body, 'utf8').toString('latin1');
  const text = chance.pick<(line: string) => string>([
    (line) => `${line}\r`,
    (line) => `${line}\r\n\r\n\n`,
    (line) => `\xef\xbb\xbf${line}`,
    (line) => `[${line},${line}]`,
    (line) => `${line}${line}`,
    (line) => `${line}\n${line.slice(0, line.length / 2)}`,
    (line) => line.slice(0, line.length / 2),
    (line) => line.replace(/:/g, ':\n'),
    (line) => `${line}{{repeat   200000}}`,
    (line) => `"{{repeat x 200000}}"\n${line}`,
    (line) => `${line}\u0000`,
    () => String.fromCharCode(...chance.bytes(200)),
    (line) => mangled(line, chance),
    () => 'Content-Length: 20\r\n\r\n{}',
  ])(bytes);
  return { do: 'raw', chunks: pieces(text, chance), afterwards: 'wait' };
}

interface Parts {
  line: string;
  lines: readonly string[];
  body: string;
}

const message = ({ line, lines, body }: Parts, ...more: string[]): string =>
  `${[line, ...lines, ...more].join('\r\n')}\r\n\r\n${body}`;
/** Ids in a body are filled in later: `{{length}}` is that of what is sent. */
const length = (more: string): string => `content-length: {{length${more}}}`;

type Game = (parts: Parts, bytes: number, chance: Chance) => string;

const games: readonly Game[] = [
  (parts) => message(parts, length('')),
  (parts, _bytes, chance) => message(parts, length(chance.pick(['+1', '+1000']))),
  (parts) => message(parts, length('-3')),
  (parts) => message(parts, length(''), length('+1')),
  (parts, _bytes, chance) =>
    message(parts, `content-length: ${chance.pick(['-1', '1e3', 'x', '', '99999999999999999999'])}`),
  (parts) => message(parts),
  (parts, bytes) => {
    const chunked = `${bytes.toString(16)}\r\n${parts.body}\r\n0\r\n\r\n`;
    return message({ ...parts, body: chunked }, 'transfer-encoding: chunked');
  },
  (parts, bytes, chance) => {
    const size = chance.pick([(bytes + 5).toString(16), 'x', '-1', 'fffffffffffffffff']);
    return message({ ...parts, body: `${size}\r\n${parts.body}` }, 'transfer-encoding: chunked');
  },
  (parts) => message(parts, length(''), 'transfer-encoding: chunked'),
  (parts, _bytes, chance) => message(parts, length(''), chance.pick(parts.lines)),
  (parts, _bytes, chance) => message(parts, length(''), `mcp-method: ${chance.pick(['tools/list', '', 'x'])}`),
  (parts, _bytes, chance) => message(parts, length(''), chance.pick(oddLines)),
  (parts, _bytes, chance) => message({ ...parts, line: chance.pick(oddRequestLines) }, length('')),
  (parts) => message({ ...parts, lines: parts.lines.filter((line) => !line.startsWith('host:')) }, length('')),
  (parts) => message(parts, length('')) + message({ ...parts, body: '' }, 'content-length: 0'), // Before the first is answered.
  (parts) => message(parts, length('')).replaceAll('\r\n', '\n'),
];

const oddLines = [
  'host: evil.example',
  'origin: https://evil.example',
  'origin: null',
  'expect: 100-continue',
  'upgrade: h2c',
  'connection: upgrade, http2-settings',
  'content-encoding: gzip',
  'x-\u0000: 1',
  'x: a\u0000b',
  'x: a\r\n folded',
  ': no name',
  'no colon',
  'x: {{repeat y 20000}}',
  'content-type: application/json, text/plain',
  'accept: text/html',
  'authorization: Bearer {{repeat t 5000}}',
  'authorization: Basic eDp5',
  'authorization: Bearer',
  'mcp-session-id: {{session local tasks}}',
] as const;

const oddRequestLines = [
  'POST /mcp HTTP/1.0',
  'POST /mcp HTTP/2.0',
  'POST /mcp',
  'post /mcp HTTP/1.1',
  'POST http://127.0.0.1/mcp HTTP/1.1',
  'POST http://evil.example/mcp HTTP/1.1',
  'POST /mcp/../mcp HTTP/1.1',
  'POST /mcp?x=1#y HTTP/1.1',
  'POST /%6dcp HTTP/1.1',
  'POST //mcp HTTP/1.1',
  'POST * HTTP/1.1',
  'POST /{{repeat a 20000}} HTTP/1.1',
  'CONNECT 127.0.0.1:80 HTTP/1.1',
  'TRACE /mcp HTTP/1.1',
  'GET /mcp HTTP/1.1',
  'GET /.well-known/oauth-protected-resource HTTP/1.1',
  '\u0016\u0003\u0001\u0002\u0000\u0001',
] as const;

/** Cut where it likes, but never inside a placeholder. */
function pieces(text: string, chance: Chance): string[] {
  const parts = [text];
  for (let left = chance.int(0, 3); left > 0; left -= 1) {
    const last = parts.pop() as string;
    const at = chance.int(0, last.length);
    const open = last.lastIndexOf('{{', at);
    const safe = open >= 0 && last.indexOf('}}', open) >= at - 1 ? open : at;
    parts.push(last.slice(0, safe), last.slice(safe));
  }
  return parts.filter((part) => part !== '');
}
