import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { text } from '../../src/engine/index.ts';
import { deferred, settle } from '../support/engine.ts';
import { serve } from './peer.ts';

describe('a handler that runs on after its request was answered', () => {
  it('has everything it had before: steps, questions, progress, log, owner, signal [C-062]', async () => {
    const answered = deferred();
    const reported = deferred();
    const { peer, clock, reaches, tasks, when } = serve((tasks) =>
      tasks.registerTool('slow', { inputSchema: z.object({ film: z.string() }) }, async ({ film }, task) => {
        await answered.promise;
        const size = await task.step(
          'measure',
          ({ idempotencyKey, signal }) => `${film} ${idempotencyKey} ${signal.aborted}`,
        );
        task.progress(1, 2, 'measured');
        reported.resolve();
        task.log('measured', 'debug');
        const answer = await task.ask('go', { message: 'Go on?', schema: z.object({ ok: z.boolean() }) });
        return text(
          JSON.stringify({
            size,
            answer,
            id: task.id,
            who: task.principal,
            run: task.attempt,
            stop: task.signal.aborted,
          }),
        );
      }),
    );
    const request = new AbortController();
    const { taskId } = await peer.start('slow', { film: 'a' }, { signal: request.signal });
    request.abort(); // The connection is gone, as well.
    clock.advance(2_000);
    await settle();
    answered.resolve();
    await reported.promise;
    clock.advance(100);
    const asking = await when(
      taskId,
      ({ status, statusMessage }) => status === 'input_required' && statusMessage !== undefined,
    );
    expect(asking).toMatchObject({
      statusMessage: '1/2 measured',
      _meta: { 'longcall/progress': { progress: 1, total: 2, message: 'measured' } },
    });
    await peer.update(taskId, { go: { action: 'accept', content: { ok: true } } });
    const { result } = await reaches(taskId, 'completed');
    expect(JSON.parse((result as { content: { text: string }[] }).content[0]!.text)).toEqual({
      size: `a ${taskId}/measure#1 false`,
      answer: { action: 'accept', content: { ok: true } },
      id: taskId,
      who: { subject: 'local' },
      run: 1,
      stop: false,
    });
    expect(tasks.tools).toHaveLength(1);
  });
});
