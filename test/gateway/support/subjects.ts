// The servers of the comparison, and what is asked of them: every tool, by arguments that make the same answer every time.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { scratchFolder } from '../../support/stores.ts';
import type { Reach } from './clients.ts';
import type { Step } from './compare.ts';

export interface Place {
  reach: Reach;
  folder: string;
}

export interface Subject {
  name: string;
  /** Two alike, each in a folder of its own. */
  places(): Promise<[Place, Place]>;
  steps(folder: string): readonly Step[];
}

const { resolve } = createRequire(import.meta.url);
const program = (name: string): string => resolve(`@modelcontextprotocol/server-${name}/dist/index.js`);
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

function someFolder(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return folder.path;
}

export const everything: Subject = {
  name: 'server-everything',
  places: () =>
    two(() => {
      const reach = { command: process.execPath, args: [program('everything'), 'stdio'] };
      return { reach, folder: someFolder() };
    }),
  steps: everythingSteps,
};

export const everythingOverHttp: Subject = {
  name: 'server-everything over HTTP',
  // A process for each: what belongs to a session there is kept by its name, for all sessions.
  places: () => two(async () => ({ reach: { url: await everythingListens() }, folder: someFolder() })),
  steps: everythingSteps,
};

export const filesystem: Subject = {
  name: 'server-filesystem',
  places: () => two(withFiles),
  steps: filesystemSteps,
};

export const memory: Subject = {
  name: 'server-memory',
  places: () =>
    two(() => {
      const folder = someFolder();
      const env = { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') };
      return { reach: { command: process.execPath, args: [program('memory')], env }, folder };
    }),
  steps: () => memorySteps,
};

async function two(make: () => Place | Promise<Place>): Promise<[Place, Place]> {
  return [await make(), await make()];
}

function withFiles(): Place {
  const folder = someFolder();
  writeFileSync(join(folder, 'poem.txt'), 'roses are red\nviolets are blue\r\nгрусть — 悲しみ 🦜\nlast line');
  writeFileSync(join(folder, 'pixel.png'), Buffer.from(PIXEL, 'base64'));
  writeFileSync(join(folder, 'bytes.bin'), Buffer.from([0, 1, 2, 254, 255]));
  mkdirSync(join(folder, 'sub', 'deeper'), { recursive: true });
  writeFileSync(join(folder, 'sub', 'a.md'), '# a\n');
  writeFileSync(join(folder, 'sub', 'deeper', 'b.md'), '# b\n'.repeat(400));
  return { reach: { command: process.execPath, args: [program('filesystem'), folder] }, folder };
}

async function everythingListens(): Promise<string> {
  const port = await freePort();
  const child: ChildProcess = spawn(process.execPath, [program('everything'), 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const { stderr } = child;
  if (stderr === null) throw new Error('no stderr');
  for await (const line of createInterface({ input: stderr })) if (line.includes('listening')) break;
  stderr.resume();
  return `http://127.0.0.1:${port}/mcp`;
}

function everythingSteps(): Step[] {
  const data = 'data:text/plain;base64,aGVsbG8=';
  const resourceType = { type: 'ref/prompt', name: 'resource-prompt' };
  const team = { type: 'ref/prompt', name: 'completable-prompt' };
  return [
    { call: 'echo', args: { message: 'grüße 🦜 \u2028 "quoted"' } },
    { call: 'echo', args: { message: '' } },
    { call: 'echo', args: {} },
    { call: 'get-annotated-message', args: { messageType: 'error', includeImage: true } },
    { call: 'get-annotated-message', args: { messageType: 'debug' } },
    { call: 'get-annotated-message', args: { messageType: 'none' } },
    { call: 'get-env', args: {} },
    { call: 'get-resource-links', args: { count: 4 } },
    { call: 'get-resource-links', args: { count: 11 } },
    { call: 'get-resource-reference', args: { resourceType: 'Blob', resourceId: 2 } },
    { call: 'get-resource-reference', args: { resourceType: 'Text', resourceId: -1 } },
    { call: 'get-structured-content', args: { location: 'Chicago' } },
    { call: 'get-structured-content', args: { location: 'Paris' } },
    { call: 'get-sum', args: { a: 0.1, b: 0.2 } },
    { call: 'get-sum', args: { a: 'one', b: 2 } },
    { call: 'get-tiny-image', args: {} },
    { call: 'gzip-file-as-resource', args: { name: 'a.gz', data, outputType: 'resource' } },
    { call: 'gzip-file-as-resource', args: { name: 'b.gz', data, outputType: 'resourceLink' } },
    { read: 'demo://resource/session/b.gz' },
    { call: 'gzip-file-as-resource', args: { name: 'c.gz', data: 'ftp://example.org/c' } },
    { call: 'toggle-simulated-logging', args: {} },
    { call: 'toggle-simulated-logging', args: {} },
    { call: 'toggle-subscriber-updates', args: {} },
    { call: 'toggle-subscriber-updates', args: {} },
    { call: 'trigger-long-running-operation', args: { duration: 0.4, steps: 2 } },
    { call: 'get-roots-list', args: {} },
    { call: 'trigger-elicitation-request', args: {} },
    {
      call: 'trigger-url-elicitation',
      args: { url: 'https://example.org/a', message: 'Open it', elicitationId: 'e-1' },
    },
    { call: 'trigger-sampling-request', args: { prompt: 'a haiku', maxTokens: 50 } },
    { call: 'trigger-sampling-request-async', args: { prompt: 'a haiku', maxTokens: 50 }, needsTasks: true },
    { call: 'trigger-elicitation-request-async', args: {}, needsTasks: true },
    { call: 'simulate-research-query', args: { topic: 'tasks' }, needsTasks: true },
    { call: 'simulate-research-query', args: { topic: 'python', ambiguous: true }, needsTasks: true },
    { call: 'no-such-tool', args: {} },
    { read: 'demo://resource/static/document/features.md' },
    { read: 'demo://resource/dynamic/blob/3' },
    { read: 'demo://resource/dynamic/blob/none' },
    { read: 'demo://no/such/resource' },
    { prompt: 'simple-prompt' },
    { prompt: 'args-prompt', args: { city: 'Paris', state: 'Texas' } },
    { prompt: 'args-prompt', args: {} },
    { prompt: 'completable-prompt', args: { department: 'Sales', name: 'Eve' } },
    { prompt: 'resource-prompt', args: { resourceType: 'Text', resourceId: '3' } },
    { prompt: 'no-such-prompt' },
    { complete: team, argument: { name: 'department', value: 'S' } },
    { complete: team, argument: { name: 'name', value: '' }, context: { arguments: { department: 'Sales' } } },
    { complete: resourceType, argument: { name: 'resourceId', value: '12' } },
    {
      complete: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' },
      argument: { name: 'resourceId', value: '7' },
    },
  ];
}

function filesystemSteps(folder: string): Step[] {
  const at = (...names: string[]): string => join(folder, ...names);
  const edits = [{ oldText: 'roses are red', newText: 'roses are grey' }];
  return [
    { call: 'list_allowed_directories', args: {} },
    { call: 'read_file', args: { path: at('poem.txt') } },
    { call: 'read_text_file', args: { path: at('poem.txt'), head: 2 } },
    { call: 'read_text_file', args: { path: at('poem.txt'), tail: 1 } },
    { call: 'read_text_file', args: { path: at('poem.txt'), head: 1, tail: 1 } },
    { call: 'read_text_file', args: { path: at('missing.txt') } },
    { call: 'read_text_file', args: { path: '/etc/passwd' } },
    { call: 'read_text_file', args: {} },
    { call: 'read_media_file', args: { path: at('pixel.png') } },
    { call: 'read_media_file', args: { path: at('bytes.bin') } },
    { call: 'read_multiple_files', args: { paths: [at('poem.txt'), at('missing.txt'), at('sub', 'a.md')] } },
    { call: 'write_file', args: { path: at('new.txt'), content: 'one\ntwo\n' } },
    { call: 'edit_file', args: { path: at('poem.txt'), edits, dryRun: true } },
    { call: 'edit_file', args: { path: at('poem.txt'), edits } },
    { call: 'edit_file', args: { path: at('poem.txt'), edits } },
    { call: 'create_directory', args: { path: at('made', 'here') } },
    { call: 'list_directory', args: { path: folder } },
    { call: 'list_directory_with_sizes', args: { path: folder, sortBy: 'size' } },
    { call: 'directory_tree', args: { path: folder, excludePatterns: ['deeper'] } },
    { call: 'move_file', args: { source: at('new.txt'), destination: at('made', 'moved.txt') } },
    { call: 'search_files', args: { path: folder, pattern: '**/*.md' } },
    { call: 'get_file_info', args: { path: at('made', 'moved.txt') } },
    { call: 'get_file_info', args: { path: at('new.txt') } },
  ];
}

const memorySteps: readonly Step[] = [
  { call: 'read_graph', args: {} },
  {
    call: 'create_entities',
    args: {
      entities: [
        { name: 'Ada', entityType: 'person', observations: ['writes programs'] },
        { name: 'Engine', entityType: 'machine', observations: [] },
      ],
    },
  },
  { call: 'create_relations', args: { relations: [{ from: 'Ada', to: 'Engine', relationType: 'programs' }] } },
  { call: 'add_observations', args: { observations: [{ entityName: 'Ada', contents: ['is a countess', '悲しみ'] }] } },
  { call: 'add_observations', args: { observations: [{ entityName: 'Nobody', contents: ['is not there'] }] } },
  { call: 'search_nodes', args: { query: 'countess' } },
  { call: 'open_nodes', args: { names: ['Engine'] } },
  { read: 'memory://knowledge-graph' },
  { call: 'delete_observations', args: { deletions: [{ entityName: 'Ada', observations: ['is a countess'] }] } },
  { call: 'delete_relations', args: { relations: [{ from: 'Ada', to: 'Engine', relationType: 'programs' }] } },
  { call: 'delete_entities', args: { entityNames: ['Engine'] } },
  { call: 'create_entities', args: { entities: 'none' } },
  { call: 'read_graph', args: {} },
];

export const subjects: readonly Subject[] = [everything, everythingOverHttp, filesystem, memory];
