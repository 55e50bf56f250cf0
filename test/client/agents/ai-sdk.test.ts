import { generateText, type ModelMessage, stepCountIs, ToolLoopAgent } from 'ai';
import { describe, expect, it } from 'vitest';
import { toAiSdkMessage, toAiSdkTools } from '../../../src/client/ai-sdk.ts';
import { pass } from '../support.ts';
import { scriptedModel } from './mock-model.ts';
import { agentStage, aTool, hidesIds } from './support.ts';

const schema = { type: 'object', properties: { target: { type: 'string' } }, required: ['target'] };
const stopWhen = stepCountIs(10);

describe('in the loop of the AI SDK', () => {
  it('a slow tool goes on, the turn ends, and its result begins another', async () => {
    const staged = await agentStage({
      prepare: (remote) => {
        remote.tools = [aTool('build', { description: 'Builds a target', inputSchema: schema })];
      },
    });
    const { agent, remote, clock } = staged;
    const { model, prompts, calls } = scriptedModel((prompt) => {
      if (prompt.includes('built well')) return 'It is built.';
      if (prompt.includes('NOT finished')) return 'The build is running.';
      return [{ tool: 'build', input: { target: 'app' } }];
    });
    const messages: ModelMessage[] = [{ role: 'user', content: 'Build the app.' }];
    const said: string[] = [];
    const talking = (async () => {
      for (;;) {
        const tools = toAiSdkTools(agent.tools);
        const { text, response } = await generateText({
          model,
          tools,
          system: agent.instructions,
          messages,
          stopWhen,
        });
        said.push(text);
        messages.push(...response.messages);
        const notices = await agent.wait();
        if (notices.length === 0) return;
        messages.push(...notices.map(toAiSdkMessage));
        for (const notice of notices) await notice.acknowledge();
      }
    })();
    await pass(clock, 15_000, 1_000);
    const content = [
      { type: 'text', text: 'built well' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    ];
    remote.change('task-1', { status: 'completed', outcome: { status: 'completed', result: { content } } });
    await pass(clock, 30_000, 1_000);
    await talking;

    expect(said).toEqual(['The build is running.', 'It is built.']);
    expect(calls[0]?.tools?.[0]).toMatchObject({
      type: 'function',
      name: 'build',
      description: 'Builds a target',
      inputSchema: schema,
    });
    expect(remote.asked[0]?.request).toMatchObject({ name: 'build', arguments: { target: 'app' } });
    hidesIds(remote, prompts);
    expect(calls.at(-1)?.prompt.at(-1)).toMatchObject({
      role: 'user',
      content: [{ type: 'text' }, { type: 'file', mediaType: 'image/png', data: 'AAAA' }],
    });
    expect(prompts[1]).toContain('"output":{"type":"text","value":"NOT finished');
    expect(await agent.ready()).toEqual([]);
  });

  it('a quick tool is answered in place, with its pictures; a failure is one', async () => {
    const { agent, remote } = await agentStage();
    remote.onStart = ({ name }) => ({
      kind: 'immediate',
      outcome: {
        status: 'completed',
        result:
          name === 'look'
            ? {
                content: [
                  { type: 'text', text: 'a plot' },
                  { type: 'image', data: 'AAAA', mimeType: 'image/png' },
                ],
              }
            : { isError: true, content: [{ type: 'text', text: 'no such target' }] },
      },
    });
    const { model, calls } = scriptedModel((_prompt, step) =>
      step === 1 ? [{ tool: 'look' }, { tool: 'build', input: { target: 'app' } }] : 'Done.',
    );
    const own = new ToolLoopAgent({ model, tools: toAiSdkTools(agent.tools) });
    const { text } = await own.generate({ prompt: 'Look and build.' });
    expect(text).toBe('Done.');
    const answers = calls[1]?.prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []));
    expect(answers).toMatchObject([
      {
        toolName: 'look',
        output: {
          type: 'content',
          value: [
            { type: 'text', text: 'a plot\n[image, image/png]' },
            { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
          ],
        },
      },
      { toolName: 'build', output: { type: 'error-text', value: 'no such target' } },
    ]);
  });

  it('a turn that is broken off cancels what it waited for', async () => {
    const { agent, remote, clock } = await agentStage();
    const { model } = scriptedModel(() => [{ tool: 'build' }]);
    const turn = new AbortController();
    const talking = generateText({
      model,
      tools: toAiSdkTools(agent.tools),
      prompt: 'Build.',
      abortSignal: turn.signal,
      stopWhen,
    });
    const broken = expect(talking).rejects.toThrow();
    await remote.until('start', 1);
    await pass(clock, 1_000);
    turn.abort(new Error('stop'));
    await pass(clock, 2_000);
    await broken;
    expect(remote.count('cancel')).toBe(1);
  });
});
