import { describe, expect, it, onTestFinished } from 'vitest';
import { type LogSource, readCallLog, updatesWithLog } from '../../src/client/call-log.ts';
import { Changes } from '../../src/client/changes.ts';
import {
  type Call,
  type CallLogOptions,
  CallLogUnavailableError,
  type CallSnapshot,
  openTaskClient,
  type TaskLogLine,
} from '../../src/client/index.ts';
import { text } from '../../src/engine/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { answered } from '../hosts/waiting.ts';
import { type Served, serve } from '../server/peer.ts';
import { deferred } from '../support/engine.ts';
import { OUTPUT, writes } from '../support/writes.ts';
import { remoteOf } from './remotes.ts';
import { pass, settled, stage } from './support.ts';

const LONG = '.'.repeat(200);

async function hosting(revision: string) {
  const gate = deferred();
  const firstDraft = revision === 'SEP-1686';
  const protocol = firstDraft ? '2025-06-18' : revision;
  let log: (line: string) => void = () => {};
  const served = serve(
    (tasks) => {
      tasks.registerTool('chatty', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
        log = (line) => task.log(line);
        task.log('first');
        task.log('second', 'warning');
        await gate.promise;
        for (let n = 0; n < 1_000; n += 1) task.log(`${n} ${LONG}`);
        return text('done');
      });
      tasks.registerTool('writes', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
        await gate.promise;
        writes(task, ...OUTPUT); // Now; what follows, long ago.
        writes(task, ...Array.from({ length: 1_000 }, (_, at) => ({ text: `${at} ${LONG}`, at })));
        return text('written');
      });
    },
    { server: { firstDraft } },
  );
  const client = await openTaskClient({ journal: ':memory:', clock: served.clock });
  onTestFinished(() => client.close());
  const ours = await client.connect('ours', { remote: () => remoteOf(served, { protocol, firstDraft }) });
  return { gate, served, client, ours, log: (line: string) => log(line) };
}

const read = async (lines: AsyncIterable<TaskLogLine>): Promise<string[]> => {
  const found: string[] = [];
  for await (const { level, text: words } of lines) found.push(`${level} ${words}`);
  return found;
};

async function passing(served: Served, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) await pass(served.clock, 500);
}

async function following(call: Call, served: Served): Promise<void> {
  while ((await call.refresh()).phase !== 'following') await pass(served.clock, 1_000);
}

describe('what changes while the log of a call is read', () => {
  /** A call that ends while a page of its log is on its way. */
  const ending = () => {
    const changes = new Changes();
    const clock = new ManualClock();
    const open: CallSnapshot = { ...aSnapshot, phase: 'following', status: 'working' };
    let state = open;
    const source: LogSource = {
      clock,
      look: async () => state,
      read: async () => {
        if (state === open) {
          state = { ...aSnapshot, phase: 'ended', end: { kind: 'cancelled' } };
          changes.ofEnd('c');
        }
        return { lines: [], cursor: 0 };
      },
      listen: () => changes.listen('c', clock),
      watch: async () => undefined,
    };
    return source;
  };
  const aSnapshot = { id: 'c', server: 's', tool: 't', createdAt: 0, cancelRequested: false, followed: true };

  it('is heard at once, and not after the pause', async () => {
    const states: string[] = [];
    for await (const { state } of updatesWithLog(ending(), new AbortController().signal)) states.push(state.phase);
    expect(states).toEqual(['following', 'ended']);
    expect(await read(readCallLog(ending(), { follow: true }))).toEqual([]);
  });
});

describe.each(['2026-07-28', '2025-11-25', '2025-06-18', 'SEP-1686'])(
  'the log of a call to a server of ours, in %s',
  (revision) => {
    it('is read while it runs, and followed to its end', async () => {
      const { gate, served, ours } = await hosting(revision);
      const call = await ours.callTool({ name: 'chatty' });
      await following(call, served);
      expect((await answered(served.clock, read(call.log()))).answer).toEqual(['info first', 'warning second']);
      const whole = read(call.log({ follow: true }));
      gate.resolve();
      const { answer: lines } = await answered(served.clock, whole);
      expect(lines).toHaveLength(1_002);
      expect(lines.slice(1, 4)).toEqual(['warning second', `info 0 ${LONG}`, `info 1 ${LONG}`]);
      expect(lines.at(-1)).toBe(`info 999 ${LONG}`);
      const { answer: end } = await answered(served.clock, read(call.log({ tailBytes: 1_000 })));
      expect(end.length).toBeGreaterThan(1);
      expect(end.length).toBeLessThan(7);
      expect(end.at(-1)).toBe(`info 999 ${LONG}`);
    });

    it('is read by its last lines, by stream and since a time, as it was written', async () => {
      const { gate, served, ours } = await hosting(revision);
      const call = await ours.callTool({ name: 'writes' });
      await following(call, served);
      gate.resolve();
      await answered(served.clock, call.result());
      const of = async (options: CallLogOptions) => (await answered(served.clock, read(call.log(options)))).answer;
      const all = OUTPUT.map(({ level = 'info', text: words }) => `${level} ${words}`);
      const stdout = [...all.slice(0, 1), ...all.slice(2, 3)];
      expect(await of({})).toEqual([...all, ...Array.from({ length: 1_000 }, (_, n) => `info ${n} ${LONG}`)]);
      expect(await of({ tail: 2 })).toEqual([`info 998 ${LONG}`, `info 999 ${LONG}`]);
      expect((await of({ tail: 1_001 }))[0]).toBe(all.at(-1));
      expect(await of({ tail: 5_000 })).toEqual(await of({}));
      expect(await of({ stream: 'stdout' })).toEqual(stdout);
      expect(await of({ stream: 'stdout', tail: 1 })).toEqual(stdout.slice(1));
      expect(await of({ since: 500 })).toHaveLength(504);
      expect(await of({ since: 999, tail: 10, stream: 'stderr' })).toEqual(all.slice(1, 2));
      await expect(read(call.log({ tail: 0 }))).rejects.toThrow('tail: expected a whole number from 1 on, got 0');
    });

    it('is told of while it is followed: a line comes soon, and nobody asks for it all the time', async () => {
      const { gate, served, ours, log } = await hosting(revision);
      const { engine } = served.tasks;
      const readLog = engine.readLog.bind(engine);
      let reads = 0;
      engine.readLog = (taskId, principal, options = {}) => {
        if ((options.cursor ?? 0) < 1e9) reads += 1; // Not where only its end is looked for.
        return readLog(taskId, principal, options);
      };
      const call = await ours.callTool({ name: 'chatty' });
      await following(call, served);
      const lines: string[] = [];
      const reading = (async () => {
        for await (const { text: words } of call.log({ follow: true })) lines.push(words);
      })();
      await passing(served, 20_000); // Till nothing is under way.
      const before = reads;
      await passing(served, 120_000);
      expect(reads - before).toBeLessThanOrEqual(60); // Changes of the call are looked at too.
      for (let n = 0; n < 5; n += 1) {
        await passing(served, 7_000);
        log(`line ${n}`);
        for (let waitedMs = 0; lines.at(-1) !== `line ${n}`; waitedMs += 100) {
          expect(waitedMs, `line ${n}`).toBeLessThanOrEqual(1_500);
          await pass(served.clock, 100);
        }
      }
      gate.resolve();
      await answered(served.clock, reading);
      expect(lines).toHaveLength(1_007);
    });

    it('comes with the updates, to who asks for it', async () => {
      const { gate, served, ours } = await hosting(revision);
      const call = await ours.callTool({ name: 'chatty' });
      await following(call, served);
      const lines: string[] = [];
      const reading = (async () => {
        for await (const { log = [], end } of call.updates({ log: true })) {
          lines.push(...log.map(({ text: words }) => words));
          if (lines.length === 2) gate.resolve();
          if (end !== undefined) return end.kind;
        }
        return 'no end';
      })();
      expect((await answered(served.clock, reading)).answer).toBe('completed');
      expect([lines.length, lines[0], lines.at(-1)]).toEqual([1_002, 'first', `999 ${LONG}`]);
    });

    it('says so where the task is gone', async () => {
      const { gate, served, ours } = await hosting(revision);
      const call = await ours.callTool({ name: 'chatty' });
      await following(call, served);
      gate.resolve();
      await answered(served.clock, call.result());
      for (const { taskId, principal } of (await served.tasks.inspect.list({})).tasks) {
        await served.tasks.engine.delete(taskId, principal);
      }
      await expect(read(call.log())).rejects.toThrow(CallLogUnavailableError);
    });
  },
);

describe('a call to a server that tells no logs', () => {
  it('has none to read, and the error says why', async () => {
    const { server, remote } = await stage();
    const call = await server.callTool({ name: 'x' });
    await remote.until('start', 1);
    await settled();
    await expect(read(call.log())).rejects.toThrow('the server "ci" tells none');
  });

  it('has updates all the same', async () => {
    const { server, remote, clock } = await stage();
    const call = await server.callTool({ name: 'x' });
    await remote.until('start', 1);
    const phases: string[] = [];
    const reading = (async () => {
      for await (const { phase } of call.updates({ log: true })) phases.push(phase);
    })();
    remote.finish('task-1');
    await pass(clock, 2_000);
    await reading;
    expect(phases.at(-1)).toBe('ended');
  });

  it('waits no longer than its reader', async () => {
    const { server, remote } = await stage({
      prepare: (remote) => {
        remote.log = async (_taskId, cursor) => ({ lines: [], cursor });
      },
    });
    const call = await server.callTool({ name: 'x' });
    await remote.until('start', 1);
    const stop = new AbortController();
    const reading = read(call.log({ follow: true, signal: stop.signal }));
    await settled();
    stop.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  });
});
