import {
  fingerprint,
  type JobAdapter,
  type JobContext,
  type JobLogLine,
  type JobSnapshot,
  type JsonObject,
  NonRetryableError,
} from '../core/index.ts';
import type { Call } from './call.ts';
import type { CallEnd } from './call-state.ts';
import { CALL_ID_PREFIX, type CallOptions, type ConnectedServer, type ToolCall } from './connected-server.ts';
import { CallAnswerInvalidError, CallLogUnavailableError, CallNotFoundError } from './errors.ts';
import type { CallSnapshot } from './snapshot.ts';

export interface ChildCall extends ToolCall {
  options?: Pick<CallOptions, 'ttlMs'>;
  /** Sent in `_meta`, beside what the revision puts there. */
  meta?: JsonObject;
}

/** What a call is known by: its id in the client's journal. */
export type ChildRef = string;

export interface ChildJobOptions {
  /** The server, as this process reaches it now. */
  server: (context: JobContext) => ConnectedServer | Promise<ConnectedServer>;
  /** How the end of a call is told. */
  endOf: (end: CallEnd, callId: ChildRef) => JobSnapshot;
  /** Whether what the call's task logs is read, where its server tells. @default false */
  logs?: boolean;
}

/**
 * A call of a tool, as a job: made once, held in the client's journal, which follows it by itself and cancels it with its task. Its
 * id follows from the task's, so that it needs no record anywhere else before it is made.
 */
export function childJob({ server, endOf, logs = false }: ChildJobOptions): JobAdapter<ChildCall, ChildRef> {
  const callOf = async (callId: ChildRef, context: JobContext): Promise<Call | undefined> => {
    try {
      return await (await server(context)).handle(callId);
    } catch (error) {
      if (error instanceof CallNotFoundError) return undefined;
      throw error;
    }
  };
  return {
    kind: 'mcp',
    caps: {
      cancel: 'request',
      logs: logs ? 'live' : 'none',
      input: true,
      push: true,
      idempotentStart: true,
      endsWithTask: true,
    },
    refOf,
    async start({ options = {}, meta, ...call }, context) {
      const { taskId, idempotencyKey, traceparent } = context;
      const callId = refOf(context);
      const of = {
        callId,
        parent: taskId,
        ...(traceparent !== undefined && { traceparent }),
        ...(meta !== undefined && { meta }),
      };
      const keyed = { ...options, idempotencyKey };
      const connected = await server(context);
      try {
        await connected.child(call, keyed, of);
      } catch (error) {
        // What is wrong with the call stays wrong.
        if (error instanceof TypeError) throw new NonRetryableError(error.message, { cause: error });
        throw error;
      }
      return { ref: callId };
    },
    async find(_call, context) {
      return (await callOf(refOf(context), context))?.id;
    },
    async poll(callId, context) {
      const call = await callOf(callId, context);
      const gone: CallEnd = { kind: 'lost', message: 'the journal does not have the call any more' };
      if (call === undefined) return endOf(gone, callId);
      return call.state.end === undefined ? standing(call.state) : endOf(call.state.end, callId);
    },
    async changed(callId, context) {
      await (await server(context)).news(callId, context.signal);
    },
    async cancel(callId, context) {
      await (await callOf(callId, context))?.cancel();
    },
    async logs(callId, cursor = '0', context) {
      const connected = await server(context);
      try {
        const { end } = (await connected.handle(callId)).state; // Before the page, or lines are missed.
        const page = await connected.readLog(callId, Number(cursor), context.signal);
        const lines = page.lines.map((line) => ({ ...line, level: levelOf(line.level) }));
        return { lines, cursor: String(page.cursor), eof: end !== undefined && lines.length === 0 };
      } catch (error) {
        if (!(error instanceof CallLogUnavailableError) && !(error instanceof CallNotFoundError)) throw error;
        return { lines: [], cursor, eof: true };
      }
    },
    async answer(callId, key, answer, context) {
      try {
        await (await callOf(callId, context))?.answer(key, answer);
      } catch (error) {
        if (error instanceof CallAnswerInvalidError) throw new NonRetryableError(error.message, { cause: error });
        throw error;
      }
    },
    async release(callId, context) {
      await (await callOf(callId, context))?.acknowledge();
    },
  };
}

/** The same in every process; nothing is read out of it. */
function refOf({ idempotencyKey }: JobContext): ChildRef {
  return `${CALL_ID_PREFIX}${fingerprint(`call ${idempotencyKey}`, 'base64url', 24)}`;
}

function levelOf(level: string): NonNullable<JobLogLine['level']> {
  return level === 'debug' || level === 'warning' || level === 'error' ? level : 'info';
}

function standing({ status, questions, statusMessage, progress, pollIntervalMs }: CallSnapshot): JobSnapshot {
  const told = {
    ...(statusMessage !== undefined && { message: statusMessage }),
    ...(progress !== undefined && { progress }),
    ...(pollIntervalMs !== undefined && { pollHintMs: pollIntervalMs }),
  };
  if (questions !== undefined) return { state: 'input', questions, ...told };
  // What it asks is not known before it was polled: whoever took the call over knows only that it asks.
  return status === 'input_required' ? { state: 'input', ...told } : { state: 'working', ...told };
}
