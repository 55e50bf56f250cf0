import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { RandomSource } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { answered } from '../hosts/waiting.ts';
import { type LegacyOptions, LegacyPeer } from '../server/legacy-peer.ts';
import { Peer, type Served, serve } from '../server/peer.ts';
import { deferred, pass } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { Recorder } from './recorder.ts';

/** A server, and a client that speaks the revision of a conversation by hand. What they say to each other is recorded. */
export interface Stage {
  recorder: Recorder;
  /** A client of 2026-07-28. */
  peer: Peer;
  /** Begins a session of an earlier revision. */
  connect(options: LegacyOptions): Promise<LegacyPeer>;
  /** Lets tools go on that wait to be allowed to. */
  go(): void;
  /** Lets time pass until it is so; nothing of this is recorded. */
  reaches(taskId: string, status: string): Promise<void>;
  says(taskId: string, statusMessage: string): Promise<void>;
  /** Lets a second pass. */
  tick(): Promise<void>;
  /** Lets time pass until a call is answered. */
  answered<Reply>(call: Promise<Reply>): Promise<Reply>;
}

export function stage(): Stage {
  const gate = deferred();
  const served = serve((tasks) => registerTools(tasks, gate.promise), { tasks: { random: seeded('corpus') } });
  const recorder = new Recorder();
  const peer = new Peer(
    recorder.wrap((request) => served.server.fetch(request)),
    served.validator,
  );
  const passing = async <Value>(promise: Promise<Value>): Promise<Value> =>
    (await answered(served.clock, promise)).answer;
  const when = async (taskId: string, wanted: (task: Json) => boolean): Promise<void> =>
    void (await passing(served.when(taskId, wanted)));
  return {
    recorder,
    peer,
    connect: (options) => LegacyPeer.connect({ peer } satisfies Pick<Served, 'peer'>, options),
    go: gate.resolve,
    reaches: (taskId, status) => when(taskId, (task) => task['status'] === status),
    says: (taskId, message) => when(taskId, (task) => task['statusMessage'] === message),
    tick: () => pass(served.clock, 1_000),
    answered: passing,
  };
}

function registerTools(tasks: Tasks, allowed: Promise<void>): void {
  const task = { pollIntervalMs: 1_000, ttlMs: 3_600_000, keepResultMs: 60_000 };

  tasks.registerTool(
    'greet',
    { description: 'Says hello', inputSchema: z.object({ name: z.string() }), task: { support: 'forbidden' } },
    ({ name }) => text(`hello ${name}`),
  );
  tasks.registerTool('walk', { description: 'Walks two steps', task }, async (_args, context) => {
    context.progress(1, 2, 'half-way');
    await Promise.race([allowed, aborted(context.signal)]);
    return { ...text('walked'), structuredContent: { steps: 2 } };
  });
  tasks.registerTool('paint', { description: 'Asks for a colour', task }, async (_args, context) => {
    const answer = await context.ask('colour', { message: 'Which colour?', schema: z.object({ colour: z.string() }) });
    return text(answer.action === 'accept' ? `painted ${answer.content.colour}` : `not painted: ${answer.action}`);
  });
  tasks.registerTool('nap', { description: 'Sleeps for a minute', task }, async (_args, context) => {
    await context.sleep(60_000);
    return text('awake');
  });
  tasks.registerTool('report', { description: 'Reports that it went wrong', task }, () => ({
    ...text('no such film'),
    isError: true,
  }));
  tasks.registerTool('broken', { description: 'Ends in an error', task }, () => {
    throw Object.assign(new Error('the projector broke'), { code: -32050, data: { reel: 3 } });
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** The same bytes in the same order, every time. */
function seeded(seed: string): RandomSource {
  let drawn = 0;
  return {
    bytes(size) {
      drawn += 1;
      return new Uint8Array(createHash('shake256', { outputLength: size }).update(`${seed} ${drawn}`).digest());
    },
  };
}
