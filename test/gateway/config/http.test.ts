// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the file, none of JavaScript's
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/gateway/config/load.ts';
import type { GatewayConfig } from '../../../src/gateway/config/types.ts';
import { complete } from './corpus.ts';
import { problemsOf } from './told.ts';

const env = {
  GITHUB_TOKEN: 'ghp_1234',
  HOOK: 'hook-secret',
  REGION: 'eu',
  CI_TOKEN: '0123456789abcdef0123456789abcdef',
};
const load = (text: string) => parseConfig(text, 'longcall.yaml', { env, folder: '/etc/longcall' });
const tools = (text: string): NonNullable<GatewayConfig['http']> => load(text).config.http ?? [];

const told = (text: string): string[] => problemsOf(() => load(text));

/** A tool `a` with a property `x` of its input, and these members. */
const tool = (start: string, ...lines: string[]): string =>
  ['http:', '  a:', '    input: { properties: { x: { type: string } } }', `    start: ${start}`]
    .concat(lines.map((line) => `    ${line}`))
    .join('\n');

describe('APIs in a configuration', () => {
  it('need no upstream, and no more than the address of their start', () => {
    expect(load('http: { a: { start: { url: "https://api.test/x" } } }').config).toEqual({
      upstreams: [],
      http: [
        {
          name: 'a',
          input: { type: 'object', properties: {}, additionalProperties: false },
          policy: {},
          secrets: [],
          options: { start: { url: 'https://api.test/x' }, secrets: [] },
        },
      ],
    });
  });

  it('have everything that the library has, with units, references and the address of hooks', () => {
    const text = complete.replace('${file:./cert.pem}', 'x').replaceAll('${file:cert.pem}', '${env:GITHUB_TOKEN}');
    const [one] = tools(text);
    expect(one?.policy).toEqual({ timeoutMs: 3_600_000, ttlMs: 604_800_000, concurrency: 2 });
    expect(one?.secrets).toEqual(['ghp_1234']);
    expect(one?.options).toMatchObject({
      preset: 'generic-202',
      start: {
        method: 'PUT',
        headers: { 'X-Branch': { input: 'branch' }, 'X-Key': 'ghp_1234' },
        query: { ref: { input: 'branch' }, full: 'true' },
        body: {
          key: { job: 'key' },
          callback: { job: 'webhook' },
          deep: [{ input: '$.branch' }, { literal: { input: 'x' } }],
        },
      },
      headers: { Authorization: 'Bearer ghp_1234' },
      status: { appearsWithinMs: 0, progress: { at: '$.files', total: '$.of' } },
      find: { appearsWithinMs: 120_000, headers: { 'X-Page': '1' }, query: { limit: '10' } },
      limits: { timeoutMs: 30_000, responseBytes: 4_194_304, redirects: 5 },
      webhook: {
        secret: 'ghp_1234',
        timestamp: { header: 'X-Sent-At', toleranceMs: 300_000 },
        url: 'https://tasks.example.com/hooks/deploy',
      },
    });
  });

  it.each<[string, string, string]>([
    [
      'a literal secret',
      tool('{ url: "https://a.test/" }', 'headers: { Authorization: Bearer x }'),
      '5:31: http.a.headers.Authorization: expected a reference',
    ],
    [
      'a literal secret of a hook',
      tool('{ url: "https://a.test/" }', 'webhook: { secret: hush }'),
      '5:24: http.a.webhook.secret: expected a reference',
    ],
    [
      'a property that is none',
      tool('{ url: "https://a.test/{y}" }'),
      '4:19: http.a.start.url: expected a property that the schema of the input names, got "y"',
    ],
    [
      'one in the body',
      tool('{ url: "https://a.test/", body: { b: [{ input: y }] } }'),
      'http.a.start.body.b[0].input: expected a property that the schema of the input names, got "y"',
    ],
    [
      'a value for the host',
      tool('{ url: "https://{x}.test/" }'),
      '4:19: http.a.start.url: must be an http or https URL',
    ],
    [
      'a path that is none',
      tool('{ url: "https://a.test/" }', 'status: { state: "$..", done: b }'),
      '5:22: http.a.status.state: must be a JSON path (RFC 9535)',
    ],
    [
      'a header of no request',
      tool('{ url: "https://a.test/" }', 'headers: { Host: b }'),
      'http.a.headers: no header of this name can be set: "Host"',
    ],
    [
      'nobody to call back',
      tool('{ url: "https://a.test/", body: { to: { job: webhook } } }'),
      'http.a.start.body.to.job: expected publicUrl at the top of this file',
    ],
    [
      'a search for no key',
      tool('{ url: "https://a.test/" }', 'idempotency: false', 'find: { url: "https://a.test/l", match: n }'),
      'http.a.find: nothing in the start carries the job’s key',
    ],
    [
      'the name of a command',
      `${tool('{ url: "https://a.test/" }')}\nshell: { a: { command: b } }`,
      'there is a tool of this name already: shell.a',
    ],
    [
      'a reference that is none',
      tool('{ url: "https://a.test/", body: { b: "${env:NOT_SET}" } }'),
      'the environment variable NOT_SET is not set',
    ],
  ])('are refused with %s, told where', (_what, text, message) => {
    expect(told(text).join('\n')).toContain(message);
  });

  it('may refer in addresses and bodies to what is outside the file', () => {
    const [one] = tools(tool('{ url: "https://${env:REGION}.a.test/{x}", body: { token: "${env:GITHUB_TOKEN}" } }'));
    expect(one?.options.start).toEqual({ url: 'https://eu.a.test/{x}', body: { token: 'ghp_1234' } });
    expect(one?.secrets).toEqual(['ghp_1234']);
  });
});
