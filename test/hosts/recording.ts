// Recordings of real hosts, frozen: what each of them sent to a server with slow tools and tasks, and what it was answered.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../support/messages.ts';

export interface Recording {
  host: string;
  version: string;
  transport: 'http' | 'stdio';
  /** The protocol version the two agreed on. */
  negotiated: string;
  segments: Segment[];
}

/** One run of the host; its lines are in order of time. */
export interface Segment {
  title: string;
  lines: Line[];
}

export type Line = MessageLine | EventLine;

interface Place {
  /** Milliseconds since the first message of the run, or of the process. */
  t: number;
  /** HTTP: one POST, GET or DELETE and all that came back on it. stdio: the server process. */
  channel: number;
}

/** One JSON-RPC message, or an HTTP request or answer without one. */
export interface MessageLine extends Place {
  kind: 'message';
  from: 'host' | 'server';
  http?: { method?: string; path?: string; status?: number; headers: Record<string, string> };
  message?: Json;
}

/** Everything else that could be seen: streams that open and end, signals, processes. */
export interface EventLine extends Place {
  kind: 'event';
  event: string;
  by?: string;
  http?: { status?: number; headers: Record<string, string> };
}

/**
 * @param name of a file, without its ending
 * @param folder where it is; those of hosts, unless said otherwise
 */
export function loadRecording(name: string, folder: string = join(import.meta.dirname, 'recordings')): Recording {
  const path = join(folder, `${name}.jsonl`);
  const rows = readFileSync(path, 'utf8').trimEnd().split('\n');
  const [head, ...rest] = rows.map((row) => JSON.parse(row) as Json);
  const segments: Segment[] = [];
  // A run that repeats the handshake of the first one was recorded without it.
  let handshake: Line[] = [];
  for (const row of rest) {
    const lines = segments.at(-1)?.lines;
    if (typeof row['segment'] === 'string') segments.push({ title: row['segment'], lines: [] });
    else if (row['event'] !== 'omitted') lines?.push(lineOf(row));
    else if (String(row['detail']).startsWith('handshake')) {
      if (handshake.length === 0) handshake = handshakeOf(segments[0]!);
      lines?.push(...handshake);
    }
  }
  return { ...(head?.['recording'] as unknown as Omit<Recording, 'segments'>), segments };
}

/** The segment whose title begins so. */
export function segmentOf({ host, segments }: Recording, beginning: string): Segment {
  const found = segments.filter(({ title }) => title.startsWith(beginning));
  if (found.length === 1) return found[0]!;
  throw new Error(
    `${host}: ${found.length} segments begin with "${beginning}":\n${segments.map(({ title }) => title).join('\n')}`,
  );
}

function lineOf(row: Json): Line {
  const { t = 0, exchange, proc, dir, msg, event, by, http } = row;
  const place = { t: t as number, channel: (exchange ?? proc ?? 0) as number };
  const extra = http === undefined ? {} : { http: http as { headers: Record<string, string> } };
  if (typeof event === 'string')
    return { kind: 'event', ...place, event, ...(typeof by === 'string' && { by }), ...extra };
  const from = dir === 'host->server' ? 'host' : 'server';
  return { kind: 'message', ...place, from, ...extra, ...(msg !== undefined && { message: msg as Json }) };
}

/** Up to the answer to the first `tools/list`. HTTP exchanges get numbers that the rest of the run does not use. */
function handshakeOf({ lines }: Segment): Line[] {
  const asked = lines.find((line) => line.kind === 'message' && line.message?.['method'] === 'tools/list');
  const listing = asked?.kind === 'message' ? asked.message?.['id'] : undefined;
  const end = lines.findIndex(
    (line) =>
      line.kind === 'message' && line.from === 'server' && line.message?.['id'] === listing && listing !== undefined,
  );
  const http = lines.some((line) => line.http !== undefined);
  return lines.slice(0, end + 1).map((line) => ({ ...line, ...(http && { channel: -line.channel }) }));
}
