import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endFamily, familyOf } from '../../../src/adapters/processes/process-family.ts';
import { identify, type ProcessIdentity } from '../../../src/adapters/processes/process-table.ts';
import { systemClock } from '../../../src/core/index.ts';
import { until } from '../../integration/processes.ts';
import { validated } from '../../server/peer.ts';
import { type Json, request } from '../../support/messages.ts';
import { aHello, aPlace, frontArguments, frontHere, frontThere, gone, killed } from './support.ts';

const textOf = ({ result }: { result: Json }) => (result['content'] as { text: string }[])[0]!.text;

describe('a front', () => {
  it('starts a daemon, and the next finds it', async () => {
    const place = aPlace();
    const validator = validated();
    const one = frontHere(place.options(), validator, aHello('one', { TOKEN: 'a' }));
    const other = frontHere(place.options(), validator, aHello('other', { TOKEN: 'b' }));
    const pids = await Promise.all([one, other].map(async ({ peer }) => textOf(await peer.call('pid', {}, {}))));
    expect(pids).toEqual([String(place.record().pid), String(place.record().pid)]);
    expect(place.notes('serves').sort()).toEqual(['serves one {"TOKEN":"a"}', 'serves other {"TOKEN":"b"}']);
    one.hangUp();
    await one.ended;
    expect(textOf(await other.peer.call('pid', {}, {}))).toBe(pids[1]);
  });

  it('starts one daemon, even when ten do at the same moment', async () => {
    const place = aPlace();
    const validator = validated();
    const fronts = Array.from({ length: 10 }, () => frontThere(place.options(), validator));
    const pids = await Promise.all(fronts.map(async ({ peer }) => textOf(await peer.call('pid', {}, {}))));
    expect(new Set(pids).size).toBe(1);
    expect(place.notes('up')).toEqual([`up ${pids[0]}`]);
  }, 60_000);
});

describe('a daemon that is killed', () => {
  it('is replaced, and a session of its host goes on [C-088]', async () => {
    const place = aPlace();
    const front = frontHere(place.options(), validated());
    await front.peer.initialize();
    await until('the session is known', () => place.notes('initialized')[0]);
    const { pid } = place.record();
    front.peer.write({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'hang', arguments: {} } });
    await until('the call hangs', () => place.notes('hanging')[0]);
    await killed(pid);
    const lost = await front.peer.first(({ id }) => id === 7);
    expect(lost).toMatchObject({ error: { code: -32603, message: expect.stringContaining('restarted') } });
    const answer = await front.peer.ask({
      jsonrpc: '2.0',
      id: 8,
      method: 'tools/call',
      params: { name: 'pid', arguments: {} },
    });
    expect(textOf(answer as { result: Json })).toBe(String(place.record().pid));
    expect(place.notes('initialized')).toEqual(['initialized line-peer', 'initialized line-peer']);
    expect(front.peer.messages.filter(({ id }) => id === 'initialize')).toHaveLength(1);
  });

  it('loses no task: who asks for it goes on with the next', async () => {
    const place = aPlace();
    const { peer } = frontHere(place.options(), validated());
    const { result } = await peer.call('wait');
    const taskId = String(result['taskId']);
    await until('it asks', async () => {
      const { result: task } = await peer.send('tasks/get', { taskId });
      return task['status'] === 'input_required' ? true : undefined;
    });
    await killed(place.record().pid);
    // What was asked of the dead is answered with an error, and asked again.
    await until('the answer is taken', async () => {
      const inputResponses = { go: { action: 'accept', content: {} } };
      const { error } = await peer.send('tasks/update', { taskId, inputResponses });
      return error === undefined ? true : undefined;
    });
    const done = await until('it is over', async () => {
      const { result: task } = await peer.send('tasks/get', { taskId });
      return task?.['status'] === 'completed' ? task : undefined;
    });
    expect(textOf(done as { result: Json })).toBe('went on: accept');
  });

  it('by its operator is replaced when a host has something to say, and not before', async () => {
    const place = aPlace();
    const { peer } = frontHere(place.options(), validated());
    await peer.initialize();
    await until('the session is known', () => place.notes('initialized')[0]);
    const { process: first } = place.record();
    process.kill(first!.pid, 'SIGTERM');
    await gone(first!);
    expect(place.notes('pid')).toHaveLength(1);
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'pid', arguments: {} } };
    expect(textOf((await peer.ask(call)) as { result: Json })).toBe(String(place.record().pid));
    expect(place.notes('up')).toHaveLength(2);
  });

  it('with all its fronts leaves nothing that keeps the next from starting', async () => {
    const place = aPlace();
    const validator = validated();
    const front = frontThere(place.options(), validator);
    await front.peer.call('pid', {}, {});
    const { pid, socket } = place.record();
    front.child.kill('SIGKILL');
    await killed(pid);
    expect(existsSync(socket)).toBe(true);
    const next = frontHere(place.options(), validator);
    expect(textOf(await next.peer.call('pid', {}, {}))).not.toBe(String(pid));
  });
});

describe('a host', () => {
  it('that kills the whole group of its front leaves the daemon to the others [C-106]', async () => {
    const place = aPlace();
    const validator = validated();
    const front = frontThere(place.options(), validator);
    const other = frontHere(place.options(), validator);
    await other.peer.call('pid', {}, {});
    await front.peer.call('pid', {}, {});
    const { pid } = place.record();
    process.kill(-(front.child.pid as number), 'SIGHUP');
    process.kill(-(front.child.pid as number), 'SIGKILL');
    await front.ended;
    process.kill(pid, 'SIGHUP'); // As the terminal that it was started from would.
    expect(textOf(await other.peer.call('pid', {}, {}))).toBe(String(pid));
  });

  it('that is killed takes its front with it, and no other [C-106]', async () => {
    const place = aPlace();
    const other = frontHere(place.options(), validated());
    await other.peer.call('pid', {}, {});
    const line = JSON.stringify(request(1, 'tools/list', {}));
    const script = `const { spawn } = require('node:child_process');
      const front = spawn(process.execPath, ${JSON.stringify(frontArguments(place.options()))}, { stdio: ['pipe', 'pipe', 'inherit'] });
      front.stdin.write(${JSON.stringify(`${line}\n`)});
      front.stdout.once('data', () => console.log(front.pid));`;
    const host = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [pid] = (await once(host.stdout, 'data')) as [Buffer];
    const front = identify(Number(String(pid)));
    host.kill('SIGKILL');
    await gone(front!);
    expect(textOf(await other.peer.call('pid', {}, {}))).toBe(String(place.record().pid));
  });

  it('that stops reading and hangs up ends its front all the same [C-106]', async () => {
    const place = aPlace();
    const args = frontArguments(place.options());
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    for (let id = 0; id < 500; id += 1) child.stdin.write(`${JSON.stringify(request(id, 'tools/list', {}))}\n`);
    const text = await new Promise<string>((resolve) => child.stdout.once('data', (chunk) => resolve(String(chunk))));
    child.stdout.pause();
    expect(text).toContain('"result"');
    child.stdin.end();
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(0);
  });

  it('that ends its front with all that came of it leaves the daemon to the others [C-102] [C-106]', async () => {
    const place = aPlace();
    const validator = validated();
    const front = frontThere(place.options(), validator);
    await front.peer.call('pid', {}, {}); // It is this one that has started the daemon.
    const other = frontHere(place.options(), validator);
    await other.peer.call('pid', {}, {});
    const { pid } = place.record();
    const tree = identify(front.child.pid as number) as ProcessIdentity;
    expect(familyOf(tree).map((one) => one.pid)).toEqual([tree.pid]);
    await endFamily(tree, { clock: systemClock, termGraceMs: 1_000 });
    await front.ended;
    expect(textOf(await other.peer.call('pid', {}, {}))).toBe(String(pid));
  });

  it('that closes stdin ends its front, and the idle daemon goes with nothing left behind [C-106]', async () => {
    const place = aPlace();
    const front = frontThere(place.options({ idleMs: 300 }), validated());
    await front.peer.call('pid', {}, {});
    const { process: daemon, socket } = place.record();
    front.child.stdin?.end();
    expect(await front.ended).toBe(0);
    await gone(daemon!);
    expect(existsSync(socket)).toBe(false);
    const left = readdirSync(place.folder).filter((name) => !name.startsWith('tasks.db'));
    expect(left.sort()).toEqual(['daemon.lock', 'daemon.log', 'secret', 'start.lock']);
  });
});
