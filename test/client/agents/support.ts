import { expect } from 'vitest';
import {
  type AgentReply,
  type AgentTools,
  type AgentToolsOptions,
  asAgentTools,
  type RemoteTool,
} from '../../../src/client/index.ts';
import type { ScriptedRemote } from '../scripted-remote.ts';
import { pass, type Stage, stage } from '../support.ts';

export interface AgentStage extends Stage {
  agent: AgentTools;
}

export function aTool(name: string, more: Partial<RemoteTool> = {}): RemoteTool {
  return { name, description: `Does ${name}`, inputSchema: { type: 'object' }, ...more };
}

/** An agent on a scripted server with the tools `build` and `look`; nothing ends before its test says so. */
export async function agentStage(
  options: Parameters<typeof stage>[0] & { agent?: AgentToolsOptions } = {},
): Promise<AgentStage> {
  const { agent: own, prepare, ...rest } = options;
  const staged = await stage({
    ...rest,
    prepare(remote) {
      remote.tools = [aTool('build'), aTool('look')];
      prepare?.(remote);
    },
  });
  return { ...staged, agent: await asAgentTools(staged.client, own) };
}

export function execute(agent: AgentTools, name: string, args: unknown = {}, signal?: AbortSignal) {
  const tool = agent.tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}: ${agent.tools.map((one) => one.name).join(', ')}`);
  return tool.execute(args, { signal });
}

/** The reply to a call that takes longer than its agent waits. */
export async function intoBackground(staged: AgentStage, name: string, args: unknown = {}): Promise<AgentReply> {
  const reply = execute(staged.agent, name, args);
  await pass(staged.clock, 11_000);
  const settled = await reply;
  expect(settled.background).toBe(true);
  return settled;
}

/** Ends a task, and lets the client learn of it. */
export async function finish(staged: AgentStage, taskId: string, text = 'done'): Promise<void> {
  staged.remote.finish(taskId, text);
  await pass(staged.clock, 30_000, 1_000);
}

/** What is in a conversation so far says nothing that a server or a journal would know a call by. */
export function hidesIds(remote: ScriptedRemote, texts: readonly string[], callIds: readonly string[] = []): void {
  const secret = [...remote.tasks.keys(), ...remote.keys.keys(), ...callIds];
  expect(secret.filter((id) => texts.some((text) => text.includes(id)))).toEqual([]);
}
