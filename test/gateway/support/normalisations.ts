import { realpathSync } from 'node:fs';
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

export const folders: Normalisation = {
  name: 'folders',
  why: 'each side works in a temporary folder of its own',
  apply: inTexts((text, folder) => text.replaceAll(realpathSync(folder), '<folder>').replaceAll(folder, '<folder>')),
};

export const times: Normalisation = {
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

export const ids: Normalisation = {
  name: 'ids',
  why: 'ids of tasks and questions are random, and sessions are counted from somebody else',
  apply: inTexts((text) =>
    text
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
      .replace(/(Task created: |"taskId": ")[\w-]+/g, '$1<id>')
      .replace(/session (<id>|undefined)/g, 'session <session>'),
  ),
};

export const ports: Normalisation = {
  name: 'ports',
  why: 'servers that are compared over HTTP listen on a port each, which their environment says',
  apply: inTexts((text) => text.replace(/("PORT": ")\d+/g, '$1<port>')),
};

const STAMPS = ['io.modelcontextprotocol/related-task', 'io.modelcontextprotocol/serverInfo'];

export const stamps: Normalisation = {
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

export const hints: Normalisation = {
  name: 'hints',
  why: '2026-07-28 says how long an answer may be kept',
  apply: inResult(({ ttlMs: _ttl, cacheScope: _scope, ...result }) => result),
};

/** Between two connections of one kind to one server. */
export const between: readonly Normalisation[] = [folders, times, ids, ports, stamps, hints];
