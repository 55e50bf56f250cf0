import { DEFAULTS, type JsonObject, shortId } from '../../core/index.ts';
import { type ChildSupport, supportOf } from '../../engine/child-support.ts';
import type { TaskContext } from '../../engine/index.ts';
import { resultOf } from '../call.ts';
import type { CallEnd } from '../call-state.ts';
import type { CallOptions, ConnectedServer } from '../connected-server.ts';
import { CallNotFoundError, ClientClosedError } from '../errors.ts';
import { fingerprint } from '../fingerprint.ts';
import type { CallSnapshot } from '../snapshot.ts';
import { ChildQuestions } from './child-questions.ts';

export type ChildOptions = Pick<CallOptions, 'ttlMs'>;

/** So long a parent waits in memory; a call that takes longer puts it away. As with questions. */
const HOLD_MS = DEFAULTS.holdInputMs;
/** Put away, it looks by itself once in a while, should nobody have woken it. */
const LEAST_NAP_MS = 30_000;
const LONGEST_NAP_MS = 15 * 60_000;
/** Grows with the age of the call. */
const NAP_SHARE = 1 / 8;

/**
 * Calls a tool of a server from the handler of a task, and returns its result, also one with `isError`. The call is a child of the
 * task: made once, however often the handler starts again, and followed on while nobody runs it; cancelled with the task; what it
 * asks is asked by the task, naming the server and the tool. It carries the trace of the request that made the task, and no id of it.
 * The server's client has to be opened with `tasks`. In a tool that is never a task the call lives and dies with the request.
 * @param task the handler's second argument
 * @throws as `Call.result`; {@link TypeError} naming what of the call is wrong
 */
export async function callTool(
  task: TaskContext,
  server: ConnectedServer,
  name: string,
  args: JsonObject = {},
  options: ChildOptions = {},
): Promise<JsonObject> {
  const support = supportOf(task);
  const call = { name, arguments: args };
  if (support === undefined) {
    const made = await server.callTool(call, { ...options, signal: task.signal });
    try {
      return await made.result();
    } finally {
      await made.acknowledge(); // Whichever end it was: the handler has it.
    }
  }
  const label = `${server.name}/${name}`;
  const callId = await task.step(`call ${label}`, async ({ idempotencyKey }) => {
    const { traceparent } = support;
    const of = { callId: `call_${digest('call', idempotencyKey)}`, parent: task.id };
    // What the step is named by tells the task's id, which is nobody's business on another server.
    const keyed = { ...options, idempotencyKey: digest('key', idempotencyKey) };
    await server.child(call, keyed, { ...of, ...(traceparent !== undefined && { traceparent }) });
    return of.callId;
  });
  const end = await endOfChild({ task, support, server, callId, label });
  return resultOf(callId, end);
}

interface WaitedFor {
  task: TaskContext;
  support: ChildSupport;
  server: ConnectedServer;
  callId: string;
  label: string;
}

async function endOfChild(child: WaitedFor): Promise<CallEnd> {
  const { task, support, server, callId, label } = child;
  const origin = `${server.origin}, ${label}`;
  const questions = new ChildQuestions({ task, support, server, callId, origin });
  let state = await look(child);
  for (; state !== 'gone' && state?.end === undefined; state = await look(child)) {
    // What it asks is not known before it was polled: whoever took the call over knows only that it asks.
    const known = state?.questions !== undefined || state?.status !== 'input_required';
    if (state !== undefined && known) await questions.told(state.questions ?? {});
    await napFor(child, state);
  }
  await questions.over();
  const known = state === 'gone' ? undefined : state.end;
  const gone: CallEnd = { kind: 'lost', message: 'the journal does not have the call any more' };
  const end = await task.step(`end of ${shortId(callId)} (${label})`, () => known ?? gone);
  await acknowledge(child); // From here on, the task's own records hold it.
  return end;
}

/** `undefined`: nobody can tell now; `gone`: the journal does not have it. */
async function look({ server, callId }: WaitedFor): Promise<CallSnapshot | 'gone' | undefined> {
  try {
    return (await server.handle(callId)).state;
  } catch (error) {
    if (error instanceof CallNotFoundError) return 'gone';
    if (error instanceof ClientClosedError) return undefined; // The task goes on with the next one.
    throw error;
  }
}

async function napFor({ support, server, callId }: WaitedFor, state: CallSnapshot | undefined): Promise<void> {
  const ageMs = state === undefined ? HOLD_MS : Math.max(0, support.now() - state.createdAt);
  const napMs = ageMs < HOLD_MS ? HOLD_MS - ageMs : Math.min(Math.max(LEAST_NAP_MS, ageMs * NAP_SHARE), LONGEST_NAP_MS);
  const over = new AbortController();
  const news = server.news(callId, over.signal).catch((error: unknown) => {
    if (!(error instanceof ClientClosedError)) throw error;
    return new Promise<void>(() => {}); // Nothing is heard any more: the nap goes to its end.
  });
  try {
    await support.nap(`child ${callId}`, napMs, news);
  } finally {
    over.abort();
  }
}

async function acknowledge({ server, callId }: WaitedFor): Promise<void> {
  try {
    await (await server.handle(callId)).acknowledge();
  } catch (error) {
    if (!(error instanceof CallNotFoundError) && !(error instanceof ClientClosedError)) throw error;
  }
}

/** 144 bits: enough for a name that nobody else makes, and nobody reads anything out of. */
function digest(purpose: string, of: string): string {
  return fingerprint(`${purpose} ${of}`, 'base64url', 24);
}
