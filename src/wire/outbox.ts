import { randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject, type RpcErrorObject } from '../core/index.ts';

/** Where a stand-in carries its key. Taken off every message that leaves, whoever put it there. */
const MARK = 'longcall/outcome';

/** What a request is really answered with. */
export type Reply = { result: JsonObject } | { error: RpcErrorObject };

interface Waiting {
  reply: Reply;
  sent: (() => void) | undefined;
}

/**
 * Lets a tool callback answer with what its SDK would not let through: the callback returns a stand-in that is a legal
 * tool result, and on the way out the stand-in becomes the real answer. Keys are random, used once, and mean something
 * only to the outbox that made them, so a tool that echoes another server's answer cannot forge one.
 */
export class Outbox {
  readonly #waiting = new Map<string, Waiting>();

  /** The stand-in for `reply`; `sent` is called when it leaves. */
  standIn(reply: Reply, sent?: () => void): { content: []; isError: true; _meta: Record<string, unknown> } {
    const key = randomUUID();
    this.#waiting.set(key, { reply, sent });
    return { content: [], isError: true, _meta: { [MARK]: key } }; // isError: no output schema is held against it.
  }

  /** Forgets stand-ins that will never leave, e.g. of a request that was cancelled. */
  discard(standIn: { _meta: Record<string, unknown> }): void {
    this.#waiting.delete(String(standIn._meta[MARK]));
  }

  /** The message as it should go out. */
  outbound<Message>(message: Message): Message {
    const { result } = message as { result?: unknown };
    if (!isJsonObject(result) || !isJsonObject(result._meta) || !Object.hasOwn(result._meta, MARK)) return message;
    const { [MARK]: key, ..._meta } = result._meta;
    const waiting = typeof key === 'string' ? this.#waiting.get(key) : undefined;
    if (waiting === undefined) return { ...message, result: withMeta(result, _meta) };
    this.#waiting.delete(key as string);
    waiting.sent?.();
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
