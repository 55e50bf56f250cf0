import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type JobSnapshot, NonRetryableError } from '../../../src/core/index.ts';
import { readRequest } from '../../../src/gateway/daemon/hello.ts';
import { openGateway } from '../../../src/gateway/gateway.ts';
import { CommandRuns } from '../../../src/gateway/runs/command-runs.ts';
import type { HandedCommand } from '../../../src/gateway/runs/handed-command.ts';
import type { AdapterOf, Run } from '../../../src/gateway/runs/run-tool.ts';
import { until } from '../../integration/processes.ts';
import { validated } from '../../server/peer.ts';
import { deferred } from '../../support/engine.ts';
import { LinePeer } from '../../support/line-peer.ts';
import type { Json } from '../../support/messages.ts';
import { scratchFolder } from '../../support/stores.ts';

const aCommand = (id: string): HandedCommand => ({
  id,
  file: 'make',
  args: ['all'],
  cwd: '/',
  env: { TOKEN: 'hunter2' },
  secrets: ['hunter2'],
});
const call = (id: string, more: Json = {}) => ({ id, command: ['make', 'all'], cwd: '/', ...more });

/** Where commands run: they are over when the test says so. */
class Machine {
  readonly started: Run[] = [];
  readonly polled: Run[] = [];
  readonly ends = new Map<string, JobSnapshot>();
  /** Nothing starts before. */
  ready: Promise<void> = Promise.resolve();

  readonly adapterOf: AdapterOf = (run) => ({
    kind: 'shell',
    caps: { cancel: 'force', logs: 'none', input: false, push: false, idempotentStart: true },
    refOf: ({ idempotencyKey }) => idempotencyKey,
    start: async (_args, { idempotencyKey: ref }) => {
      await this.ready;
      if (run.command === undefined) throw new NonRetryableError('the command was lost');
      this.started.push(run);
      return { ref };
    },
    poll: async (ref) => {
      this.polled.push(run);
      return this.ends.get(ref) ?? this.ends.get('all') ?? { state: 'working' };
    },
    cancel: async (ref) => void this.ends.set(ref, { state: 'cancelled' }),
  });

  end(): void {
    this.ends.set('all', { state: 'done', outcome: 'ok', result: { content: [{ type: 'text', text: 'made' }] } });
  }
}

function streams() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const peer = new LinePeer({ input: output, output: input }, validated());
  return { input, output, peer };
}

async function commands() {
  const scratch = scratchFolder();
  const gateway = await openGateway({ stateFolder: join(scratch.path, 'state'), config: { upstreams: [] } });
  const machine = new Machine();
  const runs = new CommandRuns(gateway.tasks, machine.adapterOf);
  onTestFinished(async () => {
    await gateway.close();
    scratch.remove();
  });
  const front = (...brought: HandedCommand[]) => {
    const { input, output, peer } = streams();
    const { closed } = runs.serve(brought, { input, output });
    return { peer, hangUp: () => void input.end(), closed };
  };
  return { gateway, machine, runs, front };
}

const over = (peer: LinePeer, taskId: unknown) =>
  until('its end', async () => {
    const { result } = await peer.send('tasks/get', { taskId: String(taskId) });
    return result['status'] === 'working' ? undefined : result;
  });

describe('commands of the user of a daemon', () => {
  it('are handed over in memory, and run as a task', async () => {
    const { machine, front, runs } = await commands();
    const { peer } = front(aCommand('one'));
    const { result: list } = await peer.send('tools/list', {});
    expect(list['tools']).toMatchObject([{ name: 'run' }]);
    const { result } = await peer.call('run', call('one', { timeoutMs: 5_000 }));
    expect(result).toMatchObject({ resultType: 'task' });
    await until('its start', () => machine.started[0]);
    expect(machine.started).toEqual([{ command: aCommand('one'), timeoutMs: 5_000 }]);
    expect(await runs.busy()).toBe(true);
    machine.end();
    expect(await over(peer, result['taskId'])).toMatchObject({
      status: 'completed',
      result: { content: [{ text: 'made' }] },
    });
    expect(await runs.busy()).toBe(false);
    // What it is asked for later it needs no command for, but its limits.
    expect(machine.polled.at(-1)).toEqual({ command: undefined, timeoutMs: 5_000 });
  });

  it('are kept until they run, also when their front has gone, and forgotten then', async () => {
    const { machine, front } = await commands();
    const { promise, resolve } = deferred();
    machine.ready = promise;
    const { peer, hangUp, closed } = front(aCommand('one'), aCommand('never-called'));
    const { result } = await peer.call('run', call('one'));
    hangUp();
    await closed;
    resolve();
    await until('its start', () => machine.started[0]);
    const next = front();
    machine.end();
    expect(await over(next.peer, result['taskId'])).toMatchObject({ status: 'completed' });
    next.hangUp();
    await next.closed;
    // The one that runs, and what nobody ever called.
    for (const id of ['one', 'never-called']) {
      const { peer: other } = front();
      const { result: again } = await other.call('run', call(id));
      expect(await over(other, again['taskId'])).toMatchObject({
        status: 'failed',
        error: { message: expect.stringContaining('the command was lost') },
      });
    }
    expect(machine.started).toHaveLength(1);
  });

  it('are no business of hosts on the same daemon', async () => {
    const { machine, front, gateway } = await commands();
    const { peer } = front(aCommand('one'));
    const { result } = await peer.call('run', call('one'));
    const { input, output, peer: host } = streams();
    gateway.serve({ input, output });
    expect((await host.send('tools/list', {})).result['tools']).toEqual([]);
    expect((await host.call('run', call('one'))).error).toMatchObject({ message: 'Unknown tool: run' });
    for (const method of ['tasks/get', 'tasks/cancel']) {
      expect((await host.send(method, { taskId: String(result['taskId']) })).error, method).toMatchObject({
        code: -32602,
      });
    }
    machine.end();
    expect(await over(peer, result['taskId'])).toMatchObject({ status: 'completed' });
  });
});

describe('what a front hands over', () => {
  const request = (commands: unknown) => ({ want: 'serve', hello: { folder: '/', commands } });
  it('is read, or refused by the name of what is wrong', () => {
    expect(readRequest(request([aCommand('one')]))).toEqual(request([aCommand('one')]));
    expect(readRequest(request([]))).toEqual(request([]));
    expect(() => readRequest(request('x'))).toThrow('hello: commands must be a list');
    expect(() => readRequest(request([1]))).toThrow('hello: a command: must be an object');
    for (const [name, wrong] of Object.entries({ id: 1, file: 1, cwd: 1, env: 'x', args: 'x', secrets: 1, stdin: 1 })) {
      const bad = { ...aCommand('one'), [name]: wrong };
      expect(() => readRequest(request([bad]))).toThrow(`hello: a command: ${name} must be`);
    }
  });
});
