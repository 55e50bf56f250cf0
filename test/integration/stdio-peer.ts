import { LinePeer } from '../support/line-peer.ts';
import type { WireValidator } from '../support/wire-validator.ts';
import { type Place, type Running, run } from './processes.ts';

/** A client with a server of its own. */
export class StdioPeer extends LinePeer {
  readonly server: Running;

  constructor(place: Place, validator: WireValidator) {
    const server = run('stdio', place.database, place.folder);
    super({ input: server.child.stdout!, output: server.child.stdin! }, validator);
    this.server = server;
  }

  /** As a client that goes away does. */
  closeStdin(): Promise<number | string> {
    this.server.child.stdin?.end();
    return this.server.ended;
  }
}
