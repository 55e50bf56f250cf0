import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { DaemonError } from './errors.ts';
import { type Introduced, introduce, type Party } from './handshake.ts';
import { HungUpError } from './read-line.ts';
import { type DaemonRecord, readRecord } from './record.ts';
import { readSecret, secretPath } from './secret.ts';

/** A daemon that listens, and has proven to be one. */
export interface Connected extends Introduced {
  socket: Socket;
  record: DaemonRecord;
}

/** What happens when it ends just then, or has been killed. */
const GONE = new Set(['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE']);

/**
 * Connects to the daemon of a folder.
 * @returns nothing where none listens
 * @throws {DaemonError} when somebody listens who is not our daemon, or does not answer.
 */
export async function connectDaemon(folder: string, party: Omit<Party, 'secret'>): Promise<Connected | undefined> {
  const record = readRecord(folder);
  const secret = readSecret(folder);
  if (record === undefined || secret === undefined) return undefined;
  const socket = connect(record.socket);
  let broken: Error | undefined;
  socket.on('error', (error) => {
    broken = error;
  });
  try {
    await once(socket, 'connect');
    return Object.assign(await introduce(socket, { ...party, secret }), { socket, record });
  } catch (error) {
    const hungUp = broken === undefined && error instanceof HungUpError;
    socket.destroy();
    const { code = '', message } = (broken ?? error) as NodeJS.ErrnoException;
    if (GONE.has(code) || hungUp) return undefined;
    throw new DaemonError(
      'DAEMON_UNTRUSTED',
      `what listens at ${record.socket} (process ${record.pid}, it says) is not used: ${message}. If it is a daemon that ` +
        `hangs, end it with \`longcall daemon stop --now\`; the secret is in ${secretPath(folder)}`,
      { cause: error },
    );
  }
}
