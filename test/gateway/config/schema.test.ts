// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the file, none of JavaScript's
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseConfig } from '../../../src/gateway/config/load.ts';
import { ConfigError } from '../../../src/gateway/config/problems.ts';
import { configSchema } from '../../../src/gateway/config/schema.ts';
import { complete, TOKEN } from './corpus.ts';

const root = join(import.meta.dirname, '../../..');
type Schema = { [key: string]: unknown } & {
  properties?: Record<string, Schema>;
  definitions?: Record<string, Schema>;
};
const schema = JSON.parse(configSchema()) as Schema;
const validate = new Ajv({ strict: false }).compile(schema);

const around = { env: { CI_TOKEN: TOKEN, GITHUB_TOKEN: 'ghp_1' }, folder: root };
function loads(text: string): boolean {
  try {
    parseConfig(text, 'longcall.yaml', around);
    return true;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return false;
  }
}

const upstream = (members: string): string => `upstreams: { a: { command: a, ${members} } }`;
const remote = (members: string): string => `upstreams: { a: { url: "https://example.com/mcp", ${members} } }`;

const http = (members: string): string => `http: { a: { start: { url: "https://a.test/" }, ${members} } }`;
const shell = (members: string): string => `shell: { a: { command: a, ${members} } }`;

const good = [
  complete.replaceAll(/\$\{file:[^}]*\}/g, '${env:GITHUB_TOKEN}'),
  upstream(''),
  remote(''),
  'upstreams: { a: { command: [node, a.js, 1, true] } }',
  'listen: "[::1]:0"\nupstreams: { a: { command: a } }',
  'listen: { port: 8080 }\nupstreams: { a: { command: a } }',
  'limits: {}\nupstreams: { a: { command: a } }',
  'auth: { tokens: [{ name: a, token: "${env:CI_TOKEN}" }] }\nupstreams: { a: { command: a } }',
  upstream('ttl: forever, idleAfter: forever'),
  upstream('timeout: 500ms, fallback: { detachAfter: 0s }'),
  upstream('tools: { "*": {} }, allow: [], env: {}, inheritEnv: []'),
  remote('headers: { X-Version: 2 }, forwardAuthorization: true'),
  shell(''),
  'shell: { a: { script: "echo hello" } }',
  'shell: { a: { command: [a, 1, true, { input: x }], input: { properties: { x: { type: string } } } } }',
  '{ publicUrl: "https://a.test", http: { a: { start: { url: "https://a.test/" } } } }',
  http('cancel: false, idempotency: false, status: {}, limits: {}, preset: azure'),
  http(
    'status: { progress: $.a, result: $.b, state: a, url: "/x/{answer.id}" }, find: { url: "https://a.test", match: a }',
  ),
  shell('env: {}, input: {}, annotations: {}, keepOutput: {}, okCodes: [255], fallback: {}'),
];

const bad = [
  '',
  '[]',
  'text',
  '{}',
  'upstreams: []',
  'upstreams: {}',
  'upstreams: { a: }',
  'upstreams: { a: {} }',
  'upstreams: { A: { command: a } }',
  'listen: 7717\nupstreams: { a: { command: a } }',
  'listen: { port: 65536 }\nupstreams: { a: { command: a } }',
  'auth: {}\nupstreams: { a: { command: a } }',
  'auth: { tokens: [] }\nupstreams: { a: { command: a } }',
  'auth: { tokens: [{ name: a }] }\nupstreams: { a: { command: a } }',
  'limits: { slots: 1.5 }\nupstreams: { a: { command: a } }',
  'limits: { maxRequest: 4194304 }\nupstreams: { a: { command: a } }',
  upstream('url: "https://example.com/mcp"'),
  upstream('headers: {}'),
  upstream('forwardAuthorization: true'),
  remote('args: []'),
  remote('idleAfter: 1m'),
  upstream('timeout: 1'),
  upstream('timeout: 0m'),
  upstream('timeout: forever'),
  upstream('timeout: 1h30m'),
  upstream('timeout: 12345678s'),
  upstream('ttl: 0d'),
  upstream('mode: always'),
  upstream('onLost: ignore'),
  upstream('concurrency: 0'),
  upstream('attempts: 1001'),
  upstream('requireTasks: "true"'),
  upstream('fallback: { mode: wait }'),
  upstream('fallback: { detachAfterMs: 1 }'),
  upstream('prefix: "a b"'),
  upstream('allow: "*"'),
  upstream('deny: ["[a]"]'),
  upstream('tools: { a: { prefix: x } }'),
  upstream('tools: { a: }'),
  upstream('tools: []'),
  upstream('env: { "A B": x }'),
  upstream('env: { A: [x] }'),
  upstream('env: { A: }'),
  upstream('colour: red'),
  'upstreams: { a: { command: [] } }',
  'upstreams: { a: { command: "" } }',
  'upstreams: { a: { url: "example.com" } }',
  'shell: {}',
  'shell: { a: }',
  'shell: { a: {} }',
  'shell: { _a: { command: a } }',
  'shell: { "a b": { command: a } }',
  'shell: { a: { command: [] } }',
  'shell: { a: { command: [a, [b]] } }',
  'shell: { a: { command: [a, { flag: x }] } }',
  'shell: { a: { command: [a, { input: x, flag: y, option: z }] } }',
  'shell: { a: { command: [a, { input: x, join: "=" }] } }',
  'shell: { a: { command: [a, { input: "" }] } }',
  'shell: { a: { script: a, endOfOptions: false } }',
  'http: {}',
  'http: { a: }',
  'http: { a: {} }',
  'http: { a: { start: {} } }',
  '{ publicUrl: tasks.example.com, http: { a: { start: { url: "https://a.test/" } } } }',
  http('preset: soap'),
  http('cancel: true'),
  http('idempotency: true'),
  http('status: { states: { finished: [x] } }'),
  http('status: { url: {} }'),
  http('status: { result: [{ href: a }] }'),
  http('find: { url: "https://a.test" }'),
  http('allowedOrigins: [{ credentials: true }]'),
  http('limits: { response: 4 }'),
  http('webhook: { header: X }'),
  http('mode: direct'),
  shell('script: a'),
  shell('mode: direct'),
  shell('input: []'),
  shell('env: { A: [x] }'),
  shell('env: { A: { inputs: x } }'),
  shell('stdin: x'),
  shell('okCodes: []'),
  shell('okCodes: [256]'),
  shell('output: yaml'),
  shell('keepOutput: 1MiB'),
  shell('annotations: { readonly: true }'),
  shell('progress: 1'),
];

describe('the schema for editors', () => {
  it.each(good)('takes, as the loader does: %s', (text) => {
    expect([validate(parse(text)), loads(text)]).toEqual([true, true]);
  });

  it.each(bad)('refuses, as the loader does: %s', (text) => {
    expect([validate(parse(text)), loads(text)]).toEqual([false, false]);
  });

  it('is in the package', () => {
    const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
    expect(files).toContain('schema');
    expect(readFileSync(join(root, 'schema/longcall.schema.json'), 'utf8')).toBe(configSchema());
  });

  it('says of every member what it is, and of every value what is expected', () => {
    const members: string[] = [];
    const leaves: string[] = [];
    const look = (at: string, part: Schema): void => {
      for (const [name, member] of Object.entries(part.properties ?? {})) {
        if (at !== 'listen.then' && member['description'] === undefined) {
          members.push(`${at}.${name}`);
        }
        look(`${at}.${name}`, member);
      }
      for (const key of ['then', 'else', 'items'] as const) {
        if (part[key] !== undefined) look(`${at}.${key}`, part[key] as Schema);
      }
      const checks = ['type', 'enum', 'pattern', 'minimum', 'minItems'].some((key) => part[key] !== undefined);
      if (checks && part['errorMessage'] === undefined) leaves.push(at);
    };
    look('', schema);
    for (const [name, part] of Object.entries(schema.definitions ?? {})) look(name, part);
    expect({ members, leaves }).toEqual({ members: [], leaves: [] });
  });

  it('has no definition that is not used', () => {
    const used = new Set([...configSchema().matchAll(/"#\/definitions\/(\w+)"/g)].map(([, name]) => name));
    expect(Object.keys(schema.definitions ?? {}).filter((name) => !used.has(name))).toEqual([]);
  });
});
