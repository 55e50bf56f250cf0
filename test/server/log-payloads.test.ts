import { describe, expect, it } from 'vitest';
import type { JobLogLine } from '../../src/core/index.ts';
import { supportOf } from '../../src/engine/child-support.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import type { TaskLogLine, TaskLogPage } from '../../src/wire/task-log.ts';
import { said } from '../hosts/fixture.ts';
import type { Json } from '../support/messages.ts';
import { writes } from '../support/writes.ts';
import { type Peer, serve } from './peer.ts';

// What commands write, however odd or however much, through the whole of a server: log, resources, task_logs.

async function page(peer: Peer, taskId: string, cursor: number): Promise<TaskLogPage> {
  const uri = `longcall://tasks/${taskId}/log/${cursor}`;
  const { result } = await peer.send('resources/read', { uri }, { headers: { 'mcp-name': uri } });
  return JSON.parse((result['contents'] as { text: string }[])[0]?.text ?? '') as TaskLogPage;
}

async function logsOf(peer: Peer, taskId: string, args: Json = {}): Promise<string> {
  return said((await peer.call('task_logs', { taskId, ...args }, { capabilities: {} })).result);
}

describe('what a command writes', () => {
  it('may hold NUL, UTF-16 and bytes that are no text: the task ends, and programs get it as it was [C-078]', async () => {
    const invalid = Buffer.from([0x6f, 0x6b, 0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80]);
    const odd: JobLogLine[] = [
      { text: 'NUL \u0000 inside', stream: 'stdout' },
      { text: Buffer.from('dir /b\r', 'utf16le').toString('utf8'), stream: 'stdout' },
      { text: invalid.toString('utf8'), stream: 'stderr' },
      { text: invalid as never, stream: 'stderr' }, // From an adapter that is not typed.
      { text: 'half a pair \ud83d', stream: 'stderr' },
      { text: '', stream: 'stdout' },
    ];
    const { peer, reaches } = serve((tasks: Tasks) =>
      tasks.registerTool('odd', {}, (_args, task) => {
        writes(task, ...odd);
        return text('done');
      }),
    );
    const { taskId } = await peer.start('odd');
    await reaches(taskId, 'completed');
    const replaced = 'ok\ufffd\ufffd\ufffd(\ufffd\ufffd\ufffd';
    const { lines } = await page(peer, taskId, 0);
    expect(lines.map(({ stream, text: words }) => [stream, words])).toEqual([
      ['stdout', 'NUL \u0000 inside'],
      ['stdout', 'd\0i\0r\0 \0/\0b\0\r\0'],
      ['stderr', replaced],
      ['stderr', replaced],
      ['stderr', 'half a pair \ud83d'],
      ['stdout', ''],
    ]);
    // For people and models without what no text has.
    expect((await logsOf(peer, taskId, { cursor: 0 })).split('\n').slice(0, -1)).toEqual([
      'NUL  inside',
      'dir /b',
      replaced,
      replaced,
      'half a pair \ud83d',
      '',
    ]);
  });

  it('is read in parts, capped and by its end, also a million lines and one of 20 MB [C-080]', {
    timeout: 120_000,
  }, async () => {
    const lines = 1_000_000;
    const { peer, reaches, tasks } = serve((own: Tasks) =>
      own.registerTool('floods', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
        writes(task, { text: 'first error: disk is full', stream: 'stderr' });
        for (let n = 0; n < lines; n += 1_000) {
          for (let m = n; m < n + 1_000; m += 1) writes(task, { text: `${m}`, stream: 'stdout' });
          await supportOf(task)?.written();
        }
        writes(
          task,
          { text: 'é'.repeat(10 * 1024 * 1024), stream: 'stdout' },
          { text: 'exit code 1', stream: 'stderr' },
        );
        return text('done');
      }),
    );
    const { taskId } = await peer.start('floods');
    await reaches(taskId, 'completed');
    const end = await logsOf(peer, taskId);
    const total = Number(/^… of (\d+) bytes logged, only the last are shown here\n/.exec(end)?.[1]);
    expect(total).toBe(await tasks.engine.logEnd(taskId, (await tasks.inspect.get(taskId)).principal));
    expect(Buffer.byteLength(end)).toBeLessThan(66 * 1024);
    expect(end).not.toContain('\ufffd');
    expect(end).toMatch(/\n2026-\S+ stderr exit code 1\n\(next/);
    expect(await logsOf(peer, taskId, { tail: 1 })).toMatch(
      /^… of \d+ bytes logged, .*\n\S+ stderr exit code 1\n\(next/,
    );
    const errors = await logsOf(peer, taskId, { stream: 'stderr' });
    expect(errors).toMatch(/^2026-\S+ stderr first error: disk is full\n2026-\S+ stderr exit code 1\n\(next/);
    // Page by page from anywhere: whole lines, in order, none twice.
    for (const from of [0, Math.floor(total / 2), -200_000]) {
      const seen: TaskLogLine[] = [];
      let { cursor, lines: next, atEnd = false } = await page(peer, taskId, from);
      for (let pages = 1; next.length > 0; pages += 1) {
        seen.push(...next);
        if (atEnd || pages === 10) break;
        ({ cursor, lines: next, atEnd = false } = await page(peer, taskId, cursor));
      }
      const numbers = seen.flatMap(({ text: words }) => (/^\d+$/.test(words) ? [Number(words)] : []));
      expect(numbers.length).toBeGreaterThan(1_000);
      expect(numbers).toEqual(numbers.map((_, n) => (numbers[0] ?? 0) + n));
      if (from === 0) expect([seen[0]?.text, numbers[0]]).toEqual(['first error: disk is full', 0]);
      if (from >= 0) continue;
      expect(atEnd).toBe(true);
      expect(numbers.at(-1)).toBe(lines - 1);
      expect(seen.at(-2)?.text).toMatch(/^é+ … \(\d+ more bytes of this line were dropped\)$/);
      expect(seen.at(-1)?.text).toBe('exit code 1');
    }
  });
});
