import type { Socket } from 'node:net';
import { type Clock, isJsonObject, type JsonObject, type RandomSource } from '../../core/index.ts';
import { DaemonError } from './errors.ts';
import type { DaemonRequest } from './hello.ts';
import { type Challenge, isProof, prove } from './proof.ts';
import { readLine } from './read-line.ts';

/** Of the handshake itself: it stays the same between versions, so that they can tell each other apart. */
const PROTOCOL = 1;
const NONCE_BYTES = 32;
/** Of what a stranger may say. */
const GREETING_BYTES = 4_096;
/** Of what somebody says who has the secret: an environment may be large. */
const REQUEST_BYTES = 4 * 1024 * 1024;
const HANDSHAKE_MS = 10_000;

/** What both sides bring to a handshake. */
export interface Party {
  version: string;
  secret: Buffer;
  clock: Clock;
  random: RandomSource;
  /** How long it may take. @default 10 s */
  handshakeMs?: number;
}

/** A daemon that has shown that it knows the secret; it does not yet know whether we do. */
export interface Introduced {
  /** The daemon's. */
  version: string;
  /** Says who we are and what we want; the answer is the daemon's, after which the socket is ours. */
  ask(request: DaemonRequest): Promise<JsonObject>;
}

/**
 * The front's side: nothing but a random number is said before the other side has proven to be our daemon.
 * @throws {DaemonError} `DAEMON_UNTRUSTED` when it has not.
 */
export async function introduce(socket: Socket, party: Party): Promise<Introduced> {
  const ours = { version: party.version, nonce: nonceOf(party) };
  say(socket, { longcall: 'front', protocol: PROTOCOL, ...ours });
  const theirs = await hear(socket, GREETING_BYTES, party);
  const { version, nonce } = theirs;
  const known = theirs['longcall'] === 'daemon' && typeof version === 'string' && typeof nonce === 'string';
  const challenge: Challenge | undefined = known ? { front: ours, daemon: { version, nonce } } : undefined;
  if (challenge === undefined || !isProof(theirs['proof'], party.secret, 'daemon', challenge)) {
    throw new DaemonError('DAEMON_UNTRUSTED', 'what answers there does not know the secret of this folder');
  }
  return {
    version: challenge.daemon.version,
    async ask(request) {
      say(socket, { proof: prove(party.secret, 'front', challenge), request: request as unknown as JsonObject });
      const answer = await hear(socket, REQUEST_BYTES, party);
      if (typeof answer['error'] === 'string') throw new DaemonError('DAEMON_REFUSED', answer['error']);
      return answer;
    },
  };
}

/**
 * The daemon's side.
 * @throws when the other side is no front of ours, or takes too long, or says too much.
 */
export async function admit(socket: Socket, party: Party): Promise<{ version: string; request: unknown }> {
  const theirs = await hear(socket, GREETING_BYTES, party);
  const { version, nonce, protocol } = theirs;
  if (theirs['longcall'] !== 'front' || typeof version !== 'string' || typeof nonce !== 'string') {
    throw new Error('it did not say that it is a front');
  }
  if (protocol !== PROTOCOL) throw new Error(`it speaks the handshake ${JSON.stringify(protocol)}`);
  const ours = { version: party.version, nonce: nonceOf(party) };
  const challenge: Challenge = { front: { version, nonce }, daemon: ours };
  say(socket, { longcall: 'daemon', protocol: PROTOCOL, ...ours, proof: prove(party.secret, 'daemon', challenge) });
  const { proof, request } = await hear(socket, REQUEST_BYTES, party);
  if (!isProof(proof, party.secret, 'front', challenge)) throw new Error('it does not know the secret');
  return { version, request };
}

export function say(socket: Socket, message: JsonObject): void {
  socket.write(`${JSON.stringify(message)}\n`);
}

async function hear(
  socket: Socket,
  maxBytes: number,
  { clock, handshakeMs = HANDSHAKE_MS }: Party,
): Promise<JsonObject> {
  const timer = clock.setTimer(handshakeMs, () => socket.destroy(new Error(`it says nothing for ${handshakeMs} ms`)));
  try {
    const message: unknown = JSON.parse(await readLine(socket, maxBytes));
    if (!isJsonObject(message)) throw new Error('it does not say JSON objects');
    return message;
  } finally {
    timer.cancel();
  }
}

function nonceOf({ random }: Party): string {
  return Buffer.from(random.bytes(NONCE_BYTES)).toString('base64url');
}
