import { describe, expect, it, onTestFinished } from 'vitest';
import { openGateway } from '../../src/gateway/gateway.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import { registerFixtureTools } from '../hosts/fixture.ts';
import { overHttp } from '../hosts/peer.ts';
import { loadRecording, segmentOf } from '../hosts/recording.ts';
import { replay } from '../hosts/replay.ts';
import { over, serve } from '../server/peer.ts';
import type { Json } from '../support/messages.ts';
import { stateFolder } from './support.ts';

/** Lets time go by in small steps, and in each what is on its way over loopback arrive. */
async function elapse(clock: ManualClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    clock.advance(Math.min(100, left));
    for (let turn = 0; turn < 40; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The text of each answer, or the code of its error. */
function told(answers: (Json | undefined)[]): unknown[] {
  return answers.map((answer) => {
    const { content } = (answer?.['result'] ?? {}) as { content?: { text: string }[] };
    return content?.[0]?.text ?? (answer?.['error'] as Json | undefined)?.['code'];
  });
}

describe.each([
  ['Claude Code', 'claude-code.http'],
  ['Copilot CLI', 'copilot-cli.http'],
  ['Codex', 'codex.http'],
  ['Gemini CLI', 'gemini-cli.http'],
  ['OpenCode', 'opencode.http'],
])('%s, as it was recorded, before a gateway', (_, name) => {
  it('gets what it gets without one', async () => {
    const { server, clock, validator } = serve(registerFixtureTools);
    const { url: behind } = await server.listen({ port: 0 });
    const target = { url: behind, headers: {}, forwardAuthorization: false };
    const config = { upstreams: [{ name: 'up', target, prefix: '', policy: {}, tools: [] }] };
    const gateway = await openGateway({ stateFolder: stateFolder(), config, clock });
    onTestFinished(() => gateway.close());
    const { url } = await gateway.listen({ port: 0 });
    const open = overHttp(validator.wrapFetch(over(url)), url);
    const transcript = await replay(segmentOf(loadRecording(name), 'greet, ask_model'), open, {
      elapse: (ms) => elapse(clock, ms),
    });
    expect(told(transcript.answers('tools/call', 'greet'))).toEqual(['Hello, Ada!']);
    expect(told(transcript.answers('tools/call', 'slow_compute'))).toEqual(['computed a in 20s', 'computed b in 3s']);
  });
});
