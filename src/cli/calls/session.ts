import { existsSync, openSync } from 'node:fs';
import type { Call, ConnectedServer, OnQuestion, Remote, TaskClient } from '../../client/index.ts';
import type { CallRecord } from '../../client/journal/journal.ts';
import type { Supervised } from '../../client/transports.ts';
import { CliError, EXIT } from '../errors.ts';
import { loggerTo, type Output } from '../output.ts';
import type { ServerTarget } from './host-config.ts';
import { type Place, placeOf, preparePlace } from './place.ts';
import { remember } from './remembered.ts';
import { type DaemonTarget, findServer, type ServerOptions } from './servers.ts';

/** Options that every command on calls has. */
export interface CallsOptions {
  journal?: string;
  json?: boolean;
}

/** Options of commands that may have to reach a server. */
export interface ReachOptions extends CallsOptions, ServerOptions {
  stderr?: string;
}

/** How long what was taken in stays readable: people come back later than programs do. */
const KEEP_MS = 7 * 86_400_000;
/** Which calls were made here: a host that shares the journal takes its own completions in itself. */
export const NOTE = { madeBy: 'longcall' };

/** The journal, open for as long as a command takes. */
export interface Session {
  client: TaskClient;
  /** A call by its id or a beginning of it. */
  find(given: string): Promise<Call>;
  /** Where a server is, and a connection to it under its name. */
  connect(name: string, options: ReachOptions, onQuestion: OnQuestion): Promise<Connected>;
  /** All that the journal has of a call but its end. */
  record(call: Call): Promise<CallRecord | undefined>;
  /** The end of a call was shown. */
  shown(call: Call): Promise<void>;
}

export interface Connected {
  server: ConnectedServer;
  remote: Remote;
}

export async function withJournal<Result>(
  options: CallsOptions,
  output: Output,
  use: (session: Session) => Promise<Result>,
  { makes = false }: { makes?: boolean } = {},
): Promise<Result> {
  const place = placeOf(options.journal, process.env);
  if (place.named && !makes && !existsSync(place.journal)) {
    throw new CliError(`${place.journal}: there is no such journal`, EXIT.infrastructure);
  }
  preparePlace(place);
  const { openTaskClient, connectRemote } = await sdkClient();
  const { partsOf } = await import('../../client/client.ts'); // As the client itself: only where its peer is there.
  const logger = loggerTo(output);
  const client = await openTaskClient({ journal: place.journal, keepAcknowledgedMs: KEEP_MS, logger });
  try {
    return await use({
      client,
      find: (given) => client.find(given),
      connect: async (name, reach, onQuestion) => {
        const target = await placeServer(client, name, reach, place, output);
        const where = 'daemon' in target ? await daemonOf(target) : whereaboutsOf(target, reach);
        const remote = await connectRemote({ ...where, onQuestion, logger }).catch((error: unknown) => {
          throw 'command' in target && reach.stderr === undefined ? withHint(error) : error;
        });
        return { remote, server: await client.connect(name, { remote: () => remote, onQuestion }) };
      },
      record: (call) => partsOf(client).journal.call(call.id),
      shown: async (call) => {
        if (call.state.note?.madeBy === NOTE.madeBy) await call.acknowledge();
      },
    });
  } finally {
    await client.close();
  }
}

/** Finds a server, and remembers how. One name is one server for as long as it has open calls. */
async function placeServer(
  client: TaskClient,
  name: string,
  options: ReachOptions,
  { servers }: Place,
  output: Output,
): Promise<ServerTarget | DaemonTarget> {
  const found = await findServer(name, options, servers, process.env);
  if (found.changed) {
    const { following, waiting } = await client.resume();
    const open = [...following, ...waiting].filter((call) => call.server === name).length;
    if (open > 0) {
      throw new CliError(`"${name}" is another server, with ${open} open calls; give this one another name`);
    }
  }
  if (found.remember !== undefined) remember(servers, name, found.remember);
  if (found.notRemembered !== undefined) {
    output.warn(
      `longcall: "${name}" is not remembered: ${found.notRemembered}; give the same again to wait, answer or cancel\n`,
    );
  }
  return found.target;
}

/** Only where it is wanted: other servers need nothing of the gateway. */
async function daemonOf({ daemon, commands }: DaemonTarget): Promise<Supervised> {
  const { daemonServer } = await import('../jobs/daemon-server.ts');
  return daemonServer(daemon, commands);
}

/** What a server that is a command writes for its operator never reaches the terminal: it could write anything. */
function whereaboutsOf(target: ServerTarget, { stderr }: ReachOptions) {
  if ('url' in target) return { url: target.url, http: { requestInit: { headers: target.headers } } };
  return { ...target, stderr: stderr === undefined ? ('ignore' as const) : openSync(stderr, 'a', 0o600) };
}

function withHint(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return new CliError(`${error.message}; --stderr FILE keeps what the command says`, EXIT.infrastructure);
}

/** The official client is an optional peer: who only operates servers has none. */
async function sdkClient(): Promise<typeof import('../../client/index.ts')> {
  try {
    return await import('../../client/index.ts');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new CliError(
      'calling tools needs the official client: npm i @modelcontextprotocol/client',
      EXIT.infrastructure,
    );
  }
}
