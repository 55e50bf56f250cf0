import { describe, expect, it } from 'vitest';
import type { AskedBy, OnQuestion } from '../../src/client/index.ts';
import type { Question } from '../../src/core/index.ts';
import { ScriptedRemote } from './scripted-remote.ts';
import { journalFile, pass, stage } from './support.ts';

const note = { conversation: 'c-7' };

describe("a host's note on a call", () => {
  it('comes back with the call and with its completion, also after a restart, and is never sent', async () => {
    const journal = journalFile();
    const first = await stage({ journal });
    const { id } = await first.server.callTool({ name: 'build' }, { note });
    await first.remote.until('start', 1);
    expect(JSON.stringify(first.remote.asked)).not.toContain('c-7');
    await first.client.close();

    const remote = new ScriptedRemote(first.clock);
    remote.tasks.set('task-1', first.remote.task('task-1'));
    const { client, clock } = await stage({ journal, clock: first.clock, on: remote });
    expect((await client.call(id)).state.note).toEqual(note);
    remote.finish('task-1');
    await pass(clock, 5_000);
    const { value } = await client.inbox().next();
    expect(value).toMatchObject({ id, note, end: { kind: 'completed' } });
  });

  it('says with a question what it is for', async () => {
    const asked: (AskedBy | undefined)[] = [];
    const onQuestion: OnQuestion = async ({ call }) => {
      asked.push(call);
      return { action: 'decline' };
    };
    const question: Question = { kind: 'form', message: 'Go?', schema: { type: 'object', properties: {} } };
    const { server, clock } = await stage({
      onQuestion,
      prepare: (remote) => {
        remote.onStart = (request) => ({
          kind: 'task',
          task: remote.newTask(request, { status: 'input_required', questions: new Map([['go', question]]) }),
        });
      },
    });
    const { id } = await server.callTool({ name: 'deploy' }, { note });
    await pass(clock, 5_000);
    expect(asked).toEqual([{ id, server: 'ci', tool: 'deploy', note }]);
  });

  it('is an object', async () => {
    const { server } = await stage();
    await expect(server.callTool({ name: 'x' }, { note: 'c-7' as never })).rejects.toThrow('note: an object');
  });
});
