import { existsSync, watch } from 'node:fs';
import { join } from 'node:path';
import { type TaskContext, type Tasks, text } from 'longcall';
import { z } from 'zod';
import { RunNotes } from '../../chaos/ledger.ts';

/** Tools that stop at gates: files whose appearance lets them go on. Their notes tell how far they are, and where. */
export function registerTools(tasks: Tasks, folder: string): void {
  const notesOf = (task: TaskContext): RunNotes => {
    const notes = new RunNotes(folder, String(process.pid), task.id, task.attempt);
    notes.write('started');
    const told = (): void => notes.write('told', { value: (task.signal.reason as Error).name });
    task.signal.addEventListener('abort', told, { once: true });
    return notes;
  };

  // Resumable: it has a step behind it when it waits.
  tasks.registerTool(
    'walk',
    { inputSchema: z.object({ gate: z.string() }), task: { onWorkerLost: 'resume' } },
    async ({ gate }, task) => {
      const notes = notesOf(task);
      const values: string[] = [];
      for (const key of ['first', 'second', 'third']) {
        const value = await task.step(key, async ({ signal }) => {
          notes.write('began', { key });
          if (key === 'second') await opened(folder, gate, signal);
          return `${key} by ${process.pid}`;
        });
        values.push(value);
      }
      return text(values.join(', '));
    },
  );

  // Nothing is known about it, so it must not run twice.
  tasks.registerTool('once', { inputSchema: z.object({ gate: z.string() }) }, async ({ gate }, task) => {
    notesOf(task);
    await opened(folder, gate, task.signal);
    return text(`once by ${process.pid}`);
  });

  // Listens to nobody, and comes back with something to say when it is too late.
  tasks.registerTool(
    'deaf',
    { inputSchema: z.object({ gate: z.string() }), task: { onWorkerLost: 'resume' } },
    async ({ gate }, task) => {
      const notes = notesOf(task);
      await task.step('deaf', async () => {
        notes.write('began', { key: 'deaf' });
        await opened(folder, gate);
        notes.write('made', { key: 'deaf' });
        task.progress(process.pid);
        task.log(`late by ${process.pid}`);
        return process.pid;
      });
      return text(`deaf by ${process.pid}`);
    },
  );

  // Holds the event loop itself, so that nothing else of its process can run, its heartbeat included.
  tasks.registerTool(
    'block',
    { inputSchema: z.object({ ms: z.number() }), task: { onWorkerLost: 'resume' } },
    async ({ ms }, task) => {
      const notes = notesOf(task);
      await task.step('block', () => {
        for (const until = performance.now() + ms; performance.now() < until; );
      });
      await task.step('after', () => 'after');
      notes.write('returned');
      return text(`block by ${process.pid}`);
    },
  );

  const harmless = { readOnlyHint: true, idempotentHint: true };
  tasks.registerTool('quick', { annotations: harmless }, (_args, task) => {
    notesOf(task);
    return text(`quick by ${process.pid}`);
  });
  tasks.registerTool('poison', { task: { onWorkerLost: 'rerun', maxAttempts: 2 } }, (_args, task) => {
    notesOf(task);
    return process.abort();
  });
}

/** Resolves once there is a file called `gate`; rejects when `signal` fires before. */
async function opened(folder: string, gate: string, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const look = (): void => {
      if (!existsSync(join(folder, gate))) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(folder, look);
    signal?.addEventListener(
      'abort',
      () => {
        watcher.close();
        reject(signal.reason);
      },
      { once: true },
    );
    look();
  });
}
