import type { Json } from '../support/messages.ts';
import type { MessageLine } from './recording.ts';

/** Something the host sent, and what came of it. */
export interface Sent {
  channel: number;
  /** As it was sent: with the ids of the server under test. */
  message: Json | undefined;
  /** HTTP: of the answer. */
  head?: { status: number; headers: Headers };
  /** The JSON-RPC response to it. */
  answer?: Json;
  /** Whatever came on its channel before its answer. */
  before: Json[];
  /** Its channel has closed. */
  ended?: true;
}

/** What a replay led to. */
export class Transcript {
  readonly sent: Sent[] = [];
  /** All that the server sent, in order. */
  readonly received: Json[] = [];
  /** What the host could not send, since the server under test never did what it answers to. */
  readonly skipped: { line: MessageLine; why: string }[] = [];

  /** What requests of this method (calls of this tool) were answered with, in order; `undefined`: not at all. */
  answers(method: string, tool?: string): (Json | undefined)[] {
    return this.requests(method, tool).map(({ answer }) => answer);
  }

  requests(method: string, tool?: string): Sent[] {
    return this.sent.filter(({ message }) => {
      const params = message?.['params'] as Json | undefined;
      return message?.['method'] === method && (tool === undefined || params?.['name'] === tool);
    });
  }
}
