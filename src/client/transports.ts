import {
  Client,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  type Transport,
} from '@modelcontextprotocol/client';
import {
  getDefaultEnvironment as defaultEnvironment,
  StdioClientTransport,
  type StdioServerParameters,
} from '@modelcontextprotocol/client/stdio';
import type { Clock, RequestorAbilities, Timer } from '../core/index.ts';
import { withTasksDeclared } from '../wire/rev2025-11-25/client-tasks.ts';
import { encodeAbilities } from '../wire/rev2026-07-28/client.ts';
import type { NumberWatch } from './numbers/number-watch.ts';
import { RemoteUnreachableError } from './remote-errors.ts';
import { heedingRetryAfter } from './trouble.ts';

export type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
/** What a process gets of this one's environment: the few variables that programs cannot do without. */
export { defaultEnvironment };

/** Where a server is, or a client that is connected to it already. */
export type Whereabouts =
  /** `http` goes to the SDK's transport as it is: `authProvider`, headers in `requestInit`, a `fetch` of your own … */
  | { url: string | URL; http?: StreamableHTTPClientTransportOptions }
  /** A process that is spoken to over its standard input and output. It gets only the environment that is named. */
  | ({ command: string } & StdioServerParameters)
  | Supervised
  /** It stays yours: closing what was made of it leaves it open. */
  | { client: Client };

/** A server that somebody else keeps running. */
export interface Supervised {
  /** A new one for each connection. */
  transport: () => Transport;
  /** Where it is, for whoever is asked something. */
  place: string;
  /** Why there is no connection any more, or none could be made, as far as it is known. */
  trouble?: () => string | undefined;
}

export interface Dialling {
  clock: Clock;
  client: { name: string; version: string };
  abilities: RequestorAbilities;
  /** Whether questions are taken as tasks, where the server asks for that. */
  asTasks: boolean;
  protocol: string;
  /** No connection takes longer to be made, in milliseconds. */
  timeoutMs: number;
  /** Looks at what comes over HTTP. Processes are looked at by whoever supervises them. */
  numbers: NumberWatch;
}

/** A client that is connected, and whether it is ours to close. */
export interface Dialled {
  client: Client;
  transport: Transport;
  own: boolean;
}

const MODERN = '2026-07-28';

/** Connects, unless somebody else has. */
export async function dial(where: Whereabouts, dialling: Dialling): Promise<Dialled> {
  if ('client' in where) {
    const { client } = where;
    if (client.transport === undefined) throw new TypeError('client: expected one that is connected');
    return { client, transport: client.transport, own: false };
  }
  const { clock, client: info, abilities, asTasks, protocol, timeoutMs, numbers } = dialling;
  const client = new Client(info, {
    capabilities: encodeAbilities(abilities),
    ...(protocol !== 'auto' && protocol < MODERN && { supportedProtocolVersions: [protocol] }),
    versionNegotiation: {
      mode: protocol === 'auto' ? 'auto' : protocol >= MODERN ? { pin: protocol } : 'legacy',
    },
  });
  const transport = transportTo(where, clock, numbers);
  if (asTasks) declareTasks(transport, abilities);
  await inTime(client.connect(transport), transport, clock, timeoutMs);
  return { client, transport, own: true };
}

/** The official client knows no such capability, so it is said for it on the way out. */
function declareTasks(transport: Transport, abilities: RequestorAbilities): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => send(withTasksDeclared(message, abilities), options);
}

/** By our clock, not the SDK's: a server that takes a connection and says nothing must not hold its calls up for a minute. */
async function inTime(connecting: Promise<void>, transport: Transport, clock: Clock, timeoutMs: number): Promise<void> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = clock.setTimer(timeoutMs, () => {
      reject(new RemoteUnreachableError(`not connected within ${timeoutMs} ms`, { mayHaveRun: false }));
      transport.close().catch(() => undefined); // Not the client: that has none until it knows what the server speaks.
    });
  });
  try {
    await Promise.race([connecting, late]);
  } finally {
    timer?.cancel();
  }
}

function transportTo(where: Exclude<Whereabouts, { client: Client }>, clock: Clock, numbers: NumberWatch): Transport {
  if ('transport' in where) return where.transport();
  if ('command' in where) return new StdioClientTransport(where);
  const { url, http = {} } = where;
  return new StreamableHTTPClientTransport(new URL(url), {
    ...http,
    fetch: heedingRetryAfter(numbers.watching(http.fetch ?? fetch), clock),
  });
}

/** Shown to whoever is asked something: where it comes from. Never with a password that is part of an address. */
export function placeOf(where: Whereabouts): string {
  if ('transport' in where) return where.place;
  if ('command' in where) return where.command;
  if ('client' in where) return 'a client of yours';
  const url = new URL(where.url);
  return `${url.origin}${url.pathname}`;
}
