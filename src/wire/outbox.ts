import { randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject, type RpcErrorObject } from '../core/index.ts';

/** Where a stand-in carries its key. Taken off every message that leaves, whoever put it there. */
export const OUTCOME_META_KEY = 'longcall/outcome';

/** What a request is really answered with. */
export type Reply = { result: JsonObject } | { error: RpcErrorObject };

/** A legal result of a tool, and of a prompt and a resource too. */
type StandIn = {
  content: [];
  messages: [];
  contents: [];
  isError: true;
  _meta: Record<string, unknown>;
};

interface Waiting {
  reply: Reply;
  sent: () => void;
}

/**
 * Lets a tool callback answer with what its SDK would not let through: the callback returns a stand-in that is a legal
 * tool result, and on the way out the stand-in becomes the real answer. Keys are random, used once, and mean something
 * only to the outbox that made them, so a tool that echoes another server's answer cannot forge one.
 */
export class Outbox {
  readonly #waiting = new Map<string, Waiting>();

  /**
   * The stand-in for `reply`.
   * @param signal of the request: once it is aborted, the answer never leaves
   * @param then `dropped`: called, at once if need be, when that happens; `sent`: called when the answer leaves
   */
  standIn(reply: Reply, signal: AbortSignal, then: { dropped?: () => void; sent?: () => void } = {}): StandIn {
    const key = randomUUID();
    const drop = (): void => {
      this.#waiting.delete(key);
      then.dropped?.();
    };
    if (signal.aborted) drop();
    else {
      signal.addEventListener('abort', drop, { once: true });
      const sent = (): void => {
        signal.removeEventListener('abort', drop);
        then.sent?.();
      };
      this.#waiting.set(key, { reply, sent });
    }
    // isError: no output schema is held against it.
    return { content: [], messages: [], contents: [], isError: true, _meta: { [OUTCOME_META_KEY]: key } };
  }

  /** The message as it should go out. */
  outbound<Message>(message: Message): Message {
    const { result } = message as { result?: unknown };
    if (!isJsonObject(result) || !isJsonObject(result._meta) || !Object.hasOwn(result._meta, OUTCOME_META_KEY)) {
      return message;
    }
    const { [OUTCOME_META_KEY]: key, ..._meta } = result._meta;
    const waiting = typeof key === 'string' ? this.#waiting.get(key) : undefined;
    if (waiting === undefined) return { ...message, result: withMeta(result, _meta) };
    this.#waiting.delete(key as string);
    waiting.sent();
    const { jsonrpc, id } = message as { jsonrpc?: unknown; id?: unknown };
    if ('error' in waiting.reply) return { jsonrpc, id, error: waiting.reply.error } as Message;
    // What the SDK stamped on the stand-in (who serves) belongs on the real answer.
    const own = isJsonObject(waiting.reply.result._meta) ? waiting.reply.result._meta : {};
    return { jsonrpc, id, result: withMeta(waiting.reply.result, { ..._meta, ...own }) } as Message;
  }

  get size(): number {
    return this.#waiting.size;
  }
}

function withMeta(result: JsonObject, _meta: JsonObject): JsonObject {
  const { _meta: _dropped, ...rest } = result;
  return Object.keys(_meta).length === 0 ? rest : { ...rest, _meta };
}
