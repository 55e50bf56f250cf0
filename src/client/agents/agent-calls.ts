import { canonicalJson, fingerprint, isJsonObject, type JsonObject } from '../../core/index.ts';
import type { Call } from '../call.ts';
import type { CallEnd } from '../call-state.ts';
import { type ClientParts, partsOf, type TaskClient } from '../client.ts';
import type { CallRecord } from '../journal/journal.ts';
import { type AgentImage, noticeOf, outcomeOf, shortened } from './words.ts';

/** What the journal keeps with a call of an agent's. */
export interface AgentNote {
  agent: string;
  /** What its model calls it by: no id, and good for nothing but looking it up here. */
  label: string;
  /** The tool, by the name the model has for it, and which call of it this is. */
  tool: string;
  nth: number;
  /** Of server, tool and arguments. */
  digest: string;
}

export interface OpenAgentCall {
  note: AgentNote;
  record: CallRecord;
}

interface EndedAgentCall extends OpenAgentCall {
  end: CallEnd;
  endedAt: number;
}

/** A call of an agent's that goes on in the background. */
export interface BackgroundCall {
  /** What its model calls it by, such as "run_tests #2". */
  label: string;
  call: Call;
}

/** A result that came after its call was answered: a message for the model. */
export interface AgentNotice {
  /** The id of the call: the same at every delivery. For the host; a model has no use for it. */
  id: string;
  label: string;
  server: string;
  /** For the model. It says what it is about, and marks what the tool said as data. */
  text: string;
  isError: boolean;
  images: AgentImage[];
  /** Milliseconds since the Unix epoch. */
  endedAt: number;
  /** Resolves once it is on disk that the model has it: it never comes again. To be called when the message is kept. */
  acknowledge(): Promise<void>;
}

/** A call that is waited for in place; whether that brought its result decides whether there is a notice. */
interface Hand {
  answered: Promise<boolean>;
  letGo: (answered: boolean) => void;
}

const PAGE = 100;
const MAX_ASKED_CHARS = 200;

/** The calls of one agent, as the journal has them: what goes on, and what came of it and was not handed over. */
export class AgentCalls {
  readonly client: TaskClient;
  readonly agent: string;
  readonly #maxChars: number;
  readonly #parts: ClientParts;
  readonly #hands = new Map<string, Hand>();
  readonly #counts: Map<string, number>;

  private constructor(client: TaskClient, agent: string, maxChars: number, counts: Map<string, number>) {
    this.client = client;
    this.agent = agent;
    this.#maxChars = maxChars;
    this.#parts = partsOf(client);
    this.#counts = counts;
  }

  /** Labels go on where the journal ends: none that a model may remember means another call. */
  static async open(client: TaskClient, agent: string, maxChars: number): Promise<AgentCalls> {
    const counts = new Map<string, number>();
    for (const kept of await partsOf(client).journal.notes()) {
      const note = agentNote(kept, agent);
      if (note !== undefined) counts.set(note.tool, Math.max(counts.get(note.tool) ?? 0, note.nth));
    }
    return new AgentCalls(client, agent, maxChars, counts);
  }

  /** The note of a call about to be made, whose completion is held back until it is let go of. */
  hold(tool: string, digest: string): { note: AgentNote; letGo: (answered: boolean) => void } {
    const nth = (this.#counts.get(tool) ?? 0) + 1;
    this.#counts.set(tool, nth);
    const label = `${tool} #${nth}`;
    let settle = (_answered: boolean): void => {};
    const answered = new Promise<boolean>((resolve) => (settle = resolve));
    const letGo = (whether: boolean): void => {
      this.#hands.delete(label);
      settle(whether);
    };
    this.#hands.set(label, { answered, letGo });
    return { note: { agent: this.agent, label, tool, nth, digest }, letGo };
  }

  /** Calls that are not over, oldest first. */
  async open(): Promise<OpenAgentCall[]> {
    const records = await this.#parts.journal.openCalls();
    return records.flatMap((record) => {
      const note = agentNote(record.note, this.agent);
      return note === undefined ? [] : [{ note, record }];
    });
  }

  /** Those of them that nobody waits for in place. */
  async background(): Promise<BackgroundCall[]> {
    const open = (await this.open()).filter(({ note }) => !this.#hands.has(note.label));
    return Promise.all(
      open.map(async ({ note, record }) => ({ label: note.label, call: await this.client.call(record.callId) })),
    );
  }

  /** What ended and was not handed over, oldest first. */
  async ready(): Promise<AgentNotice[]> {
    return (await this.ended()).map(({ note, record, end, endedAt }) => {
      const { callId, server } = record;
      const { label } = note;
      const told = outcomeOf(end, this.#maxChars);
      const asked = shortened(JSON.stringify(record.arguments), MAX_ASKED_CHARS);
      const text = noticeOf({ callId, label, server, asked }, end, told);
      const acknowledge = (): Promise<void> => this.client.acknowledge(callId);
      return { ...told, id: callId, label, server, text, endedAt, acknowledge };
    });
  }

  /** Calls that ended, and nobody has acknowledged that; oldest first. */
  async ended(): Promise<EndedAgentCall[]> {
    const { journal } = this.#parts;
    const found: EndedAgentCall[] = [];
    let after = 0;
    for (;;) {
      const page = await journal.unread(after, PAGE);
      for (const { seq, callId, end, endedAt } of page) {
        after = seq;
        const record = await journal.call(callId);
        const note = agentNote(record?.note, this.agent);
        if (record === undefined || note === undefined) continue;
        if ((await this.#hands.get(note.label)?.answered) === true) continue;
        found.push({ note, record, end, endedAt });
      }
      if (page.length < PAGE) return found;
    }
  }

  /** The same, as soon as there is anything; nothing at once where nothing goes on that could bring it. */
  wait(signal: AbortSignal | undefined): Promise<AgentNotice[]> {
    return this.#parts.changes.until(
      'inbox',
      async () => {
        const goesOn = (await this.open()).length > 0; // Looked at first: what ends in between is found by what follows.
        const notices = await this.ready();
        return notices.length > 0 || !goesOn ? notices : undefined;
      },
      signal,
    );
  }

  /** Looks after every change, of one call or of any, until `look` yields something, but no longer than `ms`. */
  async within<Found>(
    ms: number,
    subject: { callId: string } | 'any',
    look: () => Promise<Found | undefined>,
    signal?: AbortSignal,
  ): Promise<Found | undefined> {
    const enough = new AbortController();
    const stop = (): void => enough.abort(signal?.reason);
    const timer = this.#parts.clock.setTimer(ms, () => enough.abort(enough));
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted === true) stop();
    try {
      return await this.#parts.changes.until(subject, look, enough.signal);
    } catch (error) {
      if (error === enough) return undefined;
      throw error;
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', stop);
    }
  }
}

/** What the same call has in common with itself. */
export function digestOf(server: string, tool: string, args: JsonObject): string {
  return fingerprint(canonicalJson([server, tool, args]), 'base64url');
}

export function kept(note: AgentNote): JsonObject {
  return { agentTools: { ...note } };
}

function agentNote(note: JsonObject | undefined, agent: string): AgentNote | undefined {
  const ours = note?.agentTools;
  if (!isJsonObject(ours) || ours.agent !== agent) return undefined;
  return ours as unknown as AgentNote; // Nobody else writes it.
}
