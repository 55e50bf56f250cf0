import { describe, expect, it } from 'vitest';
import { type OnQuestion, RemoteRefusedError, RemoteUnreachableError } from '../../src/client/index.ts';
import type { Answer, Question } from '../../src/core/index.ts';
import { deferred } from '../support/engine.ts';
import type { ScriptedRemote } from './scripted-remote.ts';
import { journalFile, pass, settled, stage } from './support.ts';

const schema = { type: 'object', properties: { go: { type: 'boolean' } } };
const question = (message: string): Question => ({ kind: 'form', message, schema });
const yes: Answer = { action: 'accept', content: { go: true } };

/** Every call asks these, until they are answered. */
function asks(remote: ScriptedRemote, ...keys: string[]): void {
  const questions = new Map(keys.map((key) => [key, question(`${key}?`)]));
  remote.onStart = (request) => ({
    kind: 'task',
    task: remote.newTask(request, { status: 'input_required', questions }),
  });
  remote.onAnswer = (answers) => {
    const task = remote.task('task-1');
    const left = new Map([...task.questions].filter(([key]) => !answers.has(key)));
    remote.change('task-1', { questions: left, status: left.size > 0 ? 'input_required' : 'working' });
  };
}

describe('a question of a task', () => {
  it('is asked once, however often it is polled, answered once, and observed on [C-074] [G3-C-09] [G3-C-10] [G3-C-11] [G3-C-14] [G3-C-15]', async () => {
    const asked: Question[] = [];
    const answer = deferred<Answer>();
    const onQuestion: OnQuestion = ({ question }) => {
      asked.push(question);
      return answer.promise;
    };
    const { server, remote, clock } = await stage({ onQuestion, prepare: (remote) => asks(remote, 'branch') });
    const call = await server.callTool({ name: 'deploy' });
    await pass(clock, 20_000);
    expect(asked).toEqual([question('branch?')]);
    answer.resolve(yes);
    await pass(clock, 5_000);
    expect(remote.answers).toEqual([{ branch: yes }]);
    remote.finish('task-1');
    await pass(clock, 5_000);
    await call.result();
    expect([asked.length, remote.count('answer')]).toEqual([1, 1]);
  });

  it('waits visibly where nobody can answer, and takes one answer from whoever looks [G3-C-16]', async () => {
    const { server, remote, clock, client } = await stage({ prepare: (remote) => asks(remote, 'a', 'b') });
    const call = await server.callTool({ name: 'deploy' });
    await pass(clock, 2_000);
    expect(await call.refresh()).toMatchObject({
      status: 'input_required',
      questions: { a: question('a?'), b: question('b?') },
    });
    expect(await call.answer('a', yes)).toBe(true);
    expect(await (await client.call(call.id)).answer('a', { action: 'decline' })).toBe(false);
    await call.answer('never asked', yes);
    await settled();
    expect(remote.answers).toEqual([{ a: yes }]);
    expect((await call.refresh()).questions).toEqual({ b: question('b?') });
    await pass(clock, 5_000);
    expect((await call.refresh()).questions).toEqual({ b: question('b?') });
    expect(remote.answers).toEqual([{ a: yes }]);
  });

  it('is shown again after a restart, and asked again if it had no answer [C-039]', async () => {
    const journal = journalFile();
    const asked: string[] = [];
    const onQuestion: OnQuestion = ({ question }) => {
      asked.push(question.kind === 'form' ? question.message : '');
      return new Promise(() => {});
    };
    const first = await stage({ journal, onQuestion, prepare: (remote) => asks(remote, 'branch') });
    const { clock, remote } = first;
    const { id } = await first.server.callTool({ name: 'deploy' });
    await pass(clock, 3_000);
    await first.client.close();
    const second = await stage({ journal, clock, on: remote, onQuestion });
    await pass(clock, 3_000);
    expect((await second.client.call(id)).state.questions).toEqual({ branch: question('branch?') });
    expect(asked).toEqual(['branch?', 'branch?']);
    expect(remote.count('start')).toBe(1);
  });

  it('is never asked again once there is an answer, which is sent after a restart [G3-C-15]', async () => {
    const journal = journalFile();
    let asked = 0;
    const onQuestion: OnQuestion = async () => {
      asked += 1;
      return yes;
    };
    const first = await stage({ journal, onQuestion, prepare: (remote) => asks(remote, 'branch') });
    const { clock, remote } = first;
    const take = remote.onAnswer;
    remote.onAnswer = () => {
      throw new RemoteUnreachableError('ECONNRESET', { mayHaveRun: true });
    };
    await first.server.callTool({ name: 'deploy' });
    await pass(clock, 2_000);
    expect(remote.count('answer')).toBeGreaterThanOrEqual(1);
    await first.client.close();
    remote.onAnswer = take;
    await stage({ journal, clock, on: remote, onQuestion });
    await pass(clock, 3_000);
    expect(remote.answers).toEqual([{ branch: yes }]);
    expect(asked).toBe(1);
  });

  it('can be answered anew where the server refused the answer', async () => {
    const { server, remote, clock } = await stage({ prepare: (remote) => asks(remote, 'branch') });
    const take = remote.onAnswer;
    remote.onAnswer = () => {
      throw new RemoteRefusedError({ code: -32_602, message: 'inputResponses.branch: not on a Friday' });
    };
    const call = await server.callTool({ name: 'deploy' });
    await pass(clock, 2_000);
    await call.answer('branch', { action: 'accept', content: { go: false } });
    await pass(clock, 10_000);
    expect(remote.count('answer')).toBe(1);
    remote.onAnswer = take;
    expect(await call.answer('branch', yes)).toBe(true);
    await settled();
    expect(remote.answers).toEqual([{ branch: yes }]);
  });

  it.each(['cancelled', 'answered elsewhere', 'over'])('has its dialog closed when it is %s [C-073]', async (how) => {
    const signals: AbortSignal[] = [];
    const onQuestion: OnQuestion = ({ signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    };
    const { server, remote, clock } = await stage({ onQuestion, prepare: (remote) => asks(remote, 'branch') });
    const call = await server.callTool({ name: 'deploy' });
    await pass(clock, 2_000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    if (how === 'cancelled') await call.cancel();
    if (how === 'answered elsewhere') remote.onAnswer(new Map([['branch', yes]]));
    if (how === 'over') remote.finish('task-1');
    await pass(clock, 3_000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(remote.count('answer')).toBe(0);
  });

  it('under a key that was another question before ends the call, and the task is cancelled [EC-22]', async () => {
    const { server, remote, clock } = await stage({ prepare: (remote) => asks(remote, 'branch') });
    const call = await server.callTool({ name: 'deploy' });
    await pass(clock, 2_000);
    remote.change('task-1', { questions: new Map([['branch', question('Delete everything?')]]) });
    await pass(clock, 3_000);
    await expect(call.result()).rejects.toMatchObject({
      code: 'CALL_LOST',
      message: expect.stringContaining('broke the protocol'),
    });
    expect([remote.count('cancel'), remote.answers.length]).toEqual([1, 0]);
  });
});
