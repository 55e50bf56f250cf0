import { realpathSync } from 'node:fs';
import { COMPANIONS } from '../../../src/wire/companions.ts';
import { withoutFollowUp } from '../../../src/wire/tool-list.ts';
import type { Json } from '../../support/messages.ts';
import type { Normalisation } from './compare.ts';

/** In every text of an answer. */
function inTexts(replace: (text: string, folder: string) => string): Normalisation['apply'] {
  const walk = (value: unknown, folder: string): unknown => {
    if (typeof value === 'string') return replace(value, folder);
    if (Array.isArray(value)) return value.map((item) => walk(item, folder));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, walk(item, folder)]));
  };
  return (answer, { folder }) => walk(answer, folder);
}

/** In the outermost members of a result. */
function inResult(change: (result: Json) => Json): Normalisation['apply'] {
  return (answer) => {
    if (typeof answer !== 'object' || answer === null || !('result' in answer)) return answer;
    return { ...answer, result: change(answer.result as Json) };
  };
}

const folders: Normalisation = {
  name: 'folders',
  why: 'each side works in a temporary folder of its own',
  apply: inTexts((text, folder) => text.replaceAll(realpathSync(folder), '<folder>').replaceAll(folder, '<folder>')),
};

const times: Normalisation = {
  name: 'times',
  why: 'files are made, and texts written, at different times',
  apply: inTexts((text) =>
    (isTextInBlob(text) ? Buffer.from(text, 'base64').toString() : text)
      .replace(/^(created|modified|accessed): .+$/gm, '$1: <time>')
      .replace(/\d{1,2}:\d{2}:\d{2}( [AP]M)?/g, '<time>'),
  ),
};

/** server-everything writes the time into its blobs too. */
function isTextInBlob(text: string): boolean {
  return text.startsWith(Buffer.from('Resource ').toString('base64'));
}

const ids: Normalisation = {
  name: 'ids',
  why: 'ids of tasks and questions are random, and sessions are counted from somebody else',
  apply: inTexts((text) =>
    text
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
      .replace(/(Task created: |"taskId": ")[\w-]+/g, '$1<id>')
      .replace(/session (<id>|undefined)/g, 'session <session>'),
  ),
};

const ports: Normalisation = {
  name: 'ports',
  why: 'servers that are compared over HTTP listen on a port each, which their environment says',
  apply: inTexts((text) => text.replace(/("PORT": ")\d+/g, '$1<port>')),
};

const STAMPS = ['io.modelcontextprotocol/related-task', 'io.modelcontextprotocol/serverInfo'];

const stamps: Normalisation = {
  name: 'stamps',
  why: 'revisions mark their results: which server, which task, and that they are complete',
  apply: inResult(({ resultType, _meta, ...result }) => {
    const meta = Object.entries((_meta ?? {}) as Json).filter(([name]) => !STAMPS.includes(name));
    const incomplete = resultType !== undefined && resultType !== 'complete';
    return {
      ...result,
      ...(incomplete && { resultType }),
      ...(meta.length > 0 && { _meta: Object.fromEntries(meta) }),
    };
  }),
};

const hints: Normalisation = {
  name: 'hints',
  why: '2026-07-28 says how long an answer may be kept',
  apply: inResult(({ ttlMs: _ttl, cacheScope: _scope, ...result }) => result),
};

/** In the items of a list. */
function inItems(change: (item: Json) => Json[]): Normalisation['apply'] {
  return (answer) => (Array.isArray(answer) ? answer.flatMap((item: Json) => change(item)) : answer);
}

const taskSupport: Normalisation = {
  name: 'task support',
  why: 'any tool behind the gateway may be a task, whatever its own server says',
  apply: inItems(({ execution: _execution, ...tool }) => [tool]),
};

const companions: readonly unknown[] = Object.values(COMPANIONS);

const followUp: Normalisation = {
  name: 'follow-up',
  why: 'clients without tasks get tools to follow them, and are told of them where a call may answer with a task',
  apply: inItems(({ description, outputSchema, ...tool }) => {
    if (companions.includes(tool['name'])) return [];
    const own = typeof description === 'string' ? withoutFollowUp(description, COMPANIONS.wait) : description;
    const schema = outputSchema as Json | undefined;
    return [
      {
        ...tool,
        ...(own !== undefined && { description: own }),
        ...(schema !== undefined && { outputSchema: unwidened(schema) }),
      },
    ];
  }),
};

/** The schema of what a tool itself answers, without that of a task. */
function unwidened({ anyOf, ...schema }: Json): Json {
  if (!Array.isArray(anyOf)) return schema;
  return { ...schema, ...(anyOf[0] as Json) };
}

const ownTemplates: Normalisation = {
  name: 'templates of tasks',
  why: 'the gateway shows its tasks as resources too',
  apply: inItems((item) => (String(item['uriTemplate']).startsWith('longcall://') ? [] : [item])),
};

const emptyLists: Normalisation = {
  name: 'empty lists',
  why: 'the gateway has lists of everything; a server that has no such list knows no such request',
  apply: (answer) => (isUnknownMethod(answer) ? [] : answer),
};

function isUnknownMethod(answer: unknown): boolean {
  return (answer as { error?: { code?: unknown } } | undefined)?.error?.code === -32601;
}

const unknownTools: Normalisation = {
  name: 'unknown tools',
  why: 'the gateway says itself, and as an error, that it has no such tool; some servers say so in a result',
  apply: (answer) => (/tool:? "?(up_)?no-such-tool/i.test(JSON.stringify(answer) ?? '') ? '<no such tool>' : answer),
};

const polls: Normalisation = {
  name: 'polls',
  why: 'how often a server asks for an answer depends on how fast it is there',
  apply: inTexts((text) => text.replace(/(\n(Poll \d+: [a-z_]+( - .*)?|Task created: <id>))+/g, '\n<polls>')),
};

/** For clients that cannot be asked by tasks. */
export const askedByTasks: Normalisation = {
  name: 'asked by tasks',
  why: 'the gateway can be asked by tasks, whomever it asks then, and gets the tools that are for such clients only',
  apply: inItems((tool) => (/^trigger-.*-async$/.test(String(tool['name'])) ? [] : [tool])),
};

/** Between a server and what a gateway makes of it, in front of which all calls are tasks. */
export const behindGateway: readonly Normalisation[] = [
  ...[taskSupport, followUp, ownTemplates, emptyLists, unknownTools, polls],
];

/** Between two connections of one kind to one server. */
export const between: readonly Normalisation[] = [folders, times, ids, ports, stamps, hints];
