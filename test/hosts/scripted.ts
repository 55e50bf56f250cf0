// A host that does what its model says: calls tools in its own words, and waits for them as it is used to.
import type { Timer } from '../../src/core/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import { settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import type { Incoming, OpenPeer, Peer } from './peer.ts';
import type { Script, Template } from './script.ts';

/** What a call came to. */
export interface Outcome {
  result?: Json;
  error?: Json;
  /** The host has had enough of it, or its person had. */
  stopped?: true;
  /** The connection has ended without an answer. */
  lost?: true;
}

interface Call {
  id: unknown;
  channel: number;
  token: unknown;
  end(outcome: Outcome): void;
  timer: Timer | undefined;
}

export class ScriptedHost {
  /** What `tools/list` told it. */
  tools: Json[] = [];
  /** What it was asked, and how much progress it heard of. */
  readonly asked: Json[] = [];
  progress = 0;
  readonly #script: Script;
  readonly #peer: Peer;
  readonly #clock: ManualClock;
  readonly #calls = new Set<Call>();
  readonly #answers = new Map<unknown, (message: Json) => void>();
  #session: string | undefined;
  #channel = 0;
  #lastId = 100;

  private constructor(script: Script, open: OpenPeer, clock: ManualClock) {
    this.#script = script;
    this.#clock = clock;
    this.#peer = open((incoming) => this.#receive(incoming));
  }

  static async connect(script: Script, open: OpenPeer, clock: ManualClock): Promise<ScriptedHost> {
    const host = new ScriptedHost(script, open, clock);
    for (const step of script.handshake) {
      const answer = step.message?.['id'] === undefined ? undefined : host.#answerTo(step.message['id']);
      host.#send(step);
      if (step.message?.['method'] === 'subscriptions/listen') continue; // Stays open.
      const { result } = ((await answer) ?? {}) as { result?: Json };
      if (Array.isArray(result?.['tools'])) host.tools = result['tools'] as Json[];
      await settle(2);
    }
    return host;
  }

  /** Calls a tool until there is an answer that is one, or the host has had enough. */
  async call(name: string, args: Json = {}, extra: Json = {}): Promise<Outcome> {
    const outcome = await this.#call(name, args, extra);
    const { resultType, requestState, inputRequests } = outcome.result ?? {};
    if (resultType !== 'input_required') return outcome;
    this.asked.push(...(Object.values(inputRequests as Json) as Json[]));
    const { result } = this.#script.habits.asked as { result: Json };
    const inputResponses = Object.fromEntries(Object.keys(inputRequests as Json).map((key) => [key, result]));
    return this.call(name, args, { ...extra, inputResponses, requestState });
  }

  /** What a person does who does not want to wait any longer. */
  stop(): void {
    for (const call of [...this.#calls]) this.#stop(call);
  }

  async end(): Promise<void> {
    await this.#peer.end();
  }

  #call(name: string, args: Json, extra: Json): Promise<Outcome> {
    const { call, habits } = this.#script;
    this.#lastId += 1;
    const id = this.#lastId;
    const params: Json = { ...(call.message['params'] as Json), name, arguments: args, ...extra };
    const meta = params['_meta'] as Json | undefined;
    const token =
      meta?.['progressToken'] === undefined
        ? undefined
        : typeof meta['progressToken'] === 'string'
          ? `token-${id}`
          : id;
    if (meta !== undefined) params['_meta'] = { ...meta, ...(token !== undefined && { progressToken: token }) };
    const headers = { ...call.headers, ...(call.headers?.['mcp-name'] !== undefined && { 'mcp-name': name }) };
    return new Promise((resolve) => {
      const made: Call = {
        id,
        channel: this.#send({ ...call, headers, message: { ...call.message, id, params } }),
        token,
        timer: undefined,
        end: (outcome) => {
          made.timer?.cancel();
          if (!this.#calls.delete(made)) return;
          if (habits.cancelsWhatIsOver && !outcome.stopped) this.#cancel(id, 'AbortError: The operation was aborted.');
          resolve(outcome);
        },
      };
      this.#calls.add(made);
      this.#wait(made);
    });
  }

  #wait(call: Call): void {
    const { patienceMs } = this.#script.habits;
    call.timer?.cancel();
    if (Number.isFinite(patienceMs)) call.timer = this.#clock.setTimer(patienceMs, () => this.#stop(call));
  }

  #stop(call: Call): void {
    const { stops, reason = '' } = this.#script.habits;
    for (const how of stops) {
      if (how === 'closes') this.#peer.close(call.channel);
      else this.#cancel(call.id, reason);
    }
    call.end({ stopped: true });
  }

  #cancel(requestId: unknown, reason: string): void {
    this.#send({
      ...this.#plain(),
      message: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } },
    });
  }

  /** What it sends along with everything. */
  #plain(): Template {
    const { headers = {} } = this.#script.call;
    return {
      headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !/^mcp-(method|name)$/.test(name))),
    };
  }

  #send({ method, headers, message }: Template): number {
    if (this.#script.transport === 'http') this.#channel += 1;
    const sent = Object.fromEntries(
      Object.entries(headers ?? {}).flatMap(([name, value]) => {
        if (name !== 'mcp-session-id') return [[name, value]];
        return this.#session === undefined ? [] : [[name, this.#session]];
      }),
    );
    this.#peer.send({ channel: this.#channel, headers: sent, ...(method && { method }), ...(message && { message }) });
    return this.#channel;
  }

  #answerTo(id: unknown): Promise<Json> {
    return new Promise((resolve) => this.#answers.set(id, resolve));
  }

  #receive({ channel, head, message, ended }: Incoming): void {
    this.#session = head?.headers.get('mcp-session-id') ?? this.#session;
    const { method, id, params, result, error } = (message ?? {}) as {
      method?: string;
      id?: unknown;
      params?: Json;
      result?: Json;
      error?: Json;
    };
    if (method === 'notifications/progress') {
      this.progress += 1;
      const call = [...this.#calls].find(({ token }) => token === params?.['progressToken']);
      if (call !== undefined && this.#script.habits.waitsOnProgress) this.#wait(call);
    } else if (method !== undefined && id !== undefined) {
      this.asked.push(message!);
      this.#send({ ...this.#plain(), message: { jsonrpc: '2.0', id, ...this.#script.habits.asked } });
    } else if (message !== undefined && method === undefined) {
      this.#answers.get(id)?.(message);
      [...this.#calls].find((call) => call.id === id)?.end({ ...(result && { result }), ...(error && { error }) });
    }
    if (ended && this.#script.transport === 'http') {
      [...this.#calls].find((call) => call.channel === channel)?.end({ lost: true });
    }
  }
}
