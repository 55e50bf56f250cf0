import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { serve } from '../server/peer.ts';
import { pass } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { overConnection } from './connection.ts';
import { registerFixtureTools } from './fixture.ts';
import { overHttp } from './peer.ts';
import { loadRecording, segmentOf } from './recording.ts';
import { replay } from './replay.ts';
import type { Transcript } from './transcript.ts';

/** Plays a host to a server in this process, on a clock that runs as the recording's did. */
async function play(name: string, beginning: string): Promise<Transcript & { left: () => Promise<string[]> }> {
  const { server, clock, validator, tasks, peer } = serve(registerFixtureTools);
  await peer.send('tools/list', {});
  const recording = loadRecording(name);
  const fetch = validator.wrapFetch((request: Request) => server.fetch(request));
  const open = recording.transport === 'http' ? overHttp(fetch) : overConnection(tasks);
  const transcript = await replay(segmentOf(recording, beginning), open, { elapse: (ms) => pass(clock, ms) });
  const left = async () => {
    const { tasks: all } = await tasks.engine.list(LOCAL_PRINCIPAL, { limit: 20 });
    return all.map(({ name, state }) => `${name} ${state.status}`).reverse();
  };
  return Object.assign(transcript, { left });
}

/** The text of each answer, or the code of its error. */
function told(answers: (Json | undefined)[]): unknown[] {
  return answers.map((answer) => {
    const { content } = (answer?.['result'] ?? {}) as { content?: { text: string }[] };
    return content?.[0]?.text ?? (answer?.['error'] as Json | undefined)?.['code'];
  });
}

describe('the recordings', () => {
  const names = readdirSync(join(import.meta.dirname, 'recordings')).map((file) => file.replace('.jsonl', ''));

  it.each(names)('%s can be read, and every run of it begins at the beginning', (name) => {
    const { host, negotiated, segments } = loadRecording(name);
    expect([host, negotiated]).toEqual([expect.any(String), expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/)]);
    expect(segments.length).toBeGreaterThan(0);
    for (const { title, lines } of segments) {
      const first = lines.find((line) => line.kind === 'message');
      const method = expect.stringMatching(/^(initialize|server\/discover)$/);
      expect({ title, first }).toMatchObject({ first: { from: 'host', message: { method } } });
    }
  });
});

describe.each([
  ['Claude Code', 'claude-code.http', -32021],
  ['Claude Code on stdio', 'claude-code.stdio', -32021],
  ['Copilot CLI', 'copilot-cli.http', -32021],
  ['Codex', 'codex.http', 'job failed'],
  ['Gemini CLI', 'gemini-cli.http', 'job failed'],
  ['OpenCode', 'opencode.http', undefined],
])('%s, which knows no tasks', (_, name, refusal) => {
  it('gets results as if there were none', async () => {
    const transcript = await play(name, 'greet, ask_model');
    expect(told(transcript.answers('tools/call', 'greet'))).toEqual(['Hello, Ada!']);
    expect(told(transcript.answers('tools/call', 'slow_compute'))).toEqual(['computed a in 20s', 'computed b in 3s']);
    // OpenCode does not even call a tool that wants to be a task; in sessions without tasks it runs all the same.
    expect(told(transcript.answers('tools/call', 'failing_job'))).toEqual(refusal === undefined ? [] : [refusal]);
  });
});

describe('OpenCode, which cancels every call once it is over', () => {
  it('harms nothing by it', async () => {
    const transcript = await play('opencode.http', 'greet, ask_model');
    const cancels = transcript.requests('notifications/cancelled');
    expect(cancels.length).toBeGreaterThan(5);
    expect(cancels.map(({ head }) => head?.status)).toEqual(cancels.map(() => 202));
    expect(transcript.answers('tools/call')).not.toContain(undefined);
  });
});

describe('a host that waits as long as it does by default', () => {
  it.each([
    ['claude-code.http', 'slow_compute 370 s, default limits, server opens'],
    ['claude-code.http', 'slow_progress 370 s'],
    ['claude-code.stdio', 'slow_compute 370 s'],
    ['copilot-cli.http', 'slow_compute 370 s'],
    ['copilot-cli.http', 'slow_progress 370 s'],
    ['codex.http', 'slow_compute 330 s'],
    ['codex.http', 'slow_progress 330 s'],
    ['opencode.http', 'slow_compute 330 s'],
    ['opencode.http', 'slow_progress 330 s'],
    ['gemini-cli.http', 'slow_compute 660 s'],
    ['gemini-cli.http', 'slow_progress 660 s'],
  ])('is told how to go on before it gives up, and its late cancel is about nothing: %s, %s', async (name, run) => {
    const played = await play(name, run);
    const [tool] = run.split(' ');
    expect(told(played.answers('tools/call', tool))).toEqual([
      expect.stringContaining(`NOT finished: ${tool} is still running`),
    ]);
    expect(await played.left()).toEqual([expect.stringMatching(/ (working|completed)$/)]);
  });
});

describe('a host that was set to wait ten seconds only', () => {
  it.each<[string, string, string[]]>([
    ['claude-code.stdio', 'MCP_TOOL_TIMEOUT=10000', ['slow_compute working']],
    ['opencode.http', '"timeout": 10000', ['slow_compute completed', 'slow_progress completed']],
    ['gemini-cli.http', '"timeout": 10000', ['slow_compute working', 'slow_progress working']],
    // These do not say why they stop.
    ['claude-code.http', 'MCP_TOOL_TIMEOUT=10000', ['slow_compute cancelled', 'slow_progress cancelled']],
    ['copilot-cli.http', '"timeout": 10000', ['slow_compute cancelled', 'slow_progress completed']],
    ['codex.http', 'tool_timeout_sec = 10', ['slow_compute cancelled', 'slow_progress cancelled']],
  ])('and says that its time is up has not cancelled anything: %s', async (name, run, left) => {
    expect(await (await play(name, run)).left()).toEqual(left);
  });
});

describe('a host whose person stops it', () => {
  it.each<[string, string, string]>([
    ['claude-code.http', 'SIGINT', 'slow_compute cancelled'],
    ['claude-code.stdio', 'SIGINT', 'slow_compute working'], // Its server ends with it, and the next one goes on.
    ['copilot-cli.http', 'SIGINT', 'slow_compute cancelled'],
    ['codex.http', 'SIGINT', 'slow_compute cancelled'],
    ['opencode.http', 'SIGINT', 'slow_compute working'],
    ['gemini-cli.http', 'SIGINT', 'slow_compute working'],
  ])('has cancelled its call if it says so in whichever way: %s', async (name, run, left) => {
    expect(await (await play(name, run)).left()).toEqual([left]);
  });
});

describe('Codex in a terminal', () => {
  it('has a person who fills in a form, and stops the next call', async () => {
    const played = await play('codex.http', 'interactive terminal session');
    expect(told(played.answers('tools/call'))).toEqual([
      'confirm={"action":"accept","content":{"confirm":true}}',
      undefined,
    ]);
    expect(await played.left()).toEqual(['confirm_delete completed', 'slow_compute cancelled']);
  });
});

describe('Inspector on 2026-07-28, which knows tasks', () => {
  it('polls to the result', async () => {
    const transcript = await play('inspector.http-2026', 'one process per call');
    const polls = transcript.answers('tasks/get').map((answer) => answer?.['result'] as Json);
    expect(polls.map(({ status }) => status).slice(0, 5)).toEqual([...Array(4).fill('working'), 'completed']);
    expect(polls[4]).toMatchObject({ result: { content: [{ text: 'computed a in 20s' }] } });
    expect(polls[5]).toMatchObject({ status: 'completed', result: { isError: true } });
    expect(transcript.skipped).toEqual([]);
  });
});

describe('Inspector on 2025-11-25, which takes required tools as tasks', () => {
  it('has a failure with its payload', async () => {
    const played = await play('inspector.http-2025', 'one process per call');
    expect(told(played.answers('tools/call', 'greet'))).toEqual(['Hello, Ada!']);
    expect(played.answers('tools/call', 'failing_job')).toMatchObject([{ result: { task: { status: 'working' } } }]);
    expect(played.answers('tasks/result')).toMatchObject([
      { result: { isError: true, content: [{ text: 'job failed' }] } },
    ]);
  });
});

describe('callToolStream of the SDK v1, which repeats what it asked for', () => {
  it('polls to results and failures, and is asked on the stream of tasks/result', async () => {
    const played = await play('sdk-v1-callToolStream.http', 'experimental.tasks.callToolStream');
    expect(told(played.answers('tools/call', 'greet'))).toEqual([-32601]);
    expect(told(played.answers('tasks/result'))).toEqual([
      'computed a in 10s',
      'job failed',
      'confirm={"action":"accept","content":{"confirm":true}}',
    ]);
    expect(played.skipped).toEqual([]);
  });
});
