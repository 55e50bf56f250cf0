import { isJsonObject } from '../../core/index.ts';
import type { AgentCalls } from './agent-calls.ts';
import type { AgentTool } from './agent-tools.ts';
import { type AgentReply, reply } from './reply.ts';
import { BACKGROUND_CANCEL, BACKGROUND_LIST, lineOf } from './words.ts';

/** A model that asks again although nothing has changed is kept waiting: each answer costs it a turn. */
const PATIENCE_MS = 25_000;
const MAX_LINES = 50;

/** By which a model looks after what goes on. It picks from labels; what they stand for, it never learns. */
export function controls(calls: AgentCalls): AgentTool[] {
  let told: string | undefined;

  const look = async (): Promise<string> => {
    const open = await calls.background();
    const done = (await calls.ready()).map(({ label }) => `"${label}"`);
    const lines = open.slice(0, MAX_LINES).map(({ label, call }) => lineOf(label, call.state));
    if (open.length > MAX_LINES) lines.push(`and ${open.length - MAX_LINES} more`);
    if (done.length > 0)
      lines.push(`Ended, and handed to you when your turn ends: ${done.slice(0, MAX_LINES).join(', ')}`);
    return lines.length === 0 ? 'Nothing goes on in the background.' : lines.join('\n');
  };

  const list = async (): Promise<AgentReply> => {
    const now = await look();
    if (now !== told || (await calls.background()).length === 0) {
      told = now;
      return reply(now);
    }
    const news = await calls.within(PATIENCE_MS, 'any', async () => {
      const next = await look();
      return next === told ? undefined : next;
    });
    told = news ?? told;
    return reply(news ?? 'Nothing has changed. You need not ask: end your turn, and results are handed to you.');
  };

  const cancel = async (args: unknown): Promise<AgentReply> => {
    const label = isJsonObject(args) ? args.label : undefined;
    const open = await calls.background();
    const found = open.find((one) => one.label === label);
    if (found !== undefined) {
      await found.call.cancel();
      return reply(`"${found.label}" is being cancelled. How it ended is handed to you in a later message.`);
    }
    const labels = open.slice(0, MAX_LINES).map((one) => JSON.stringify(one.label));
    const there = labels.length === 0 ? 'Nothing goes on.' : `There is: ${labels.join(', ')}.`;
    const none = `Nothing was cancelled: no call of the label ${JSON.stringify(label ?? null)} goes on.`;
    return reply(`${none} ${there}`, { isError: true });
  };

  return [
    {
      name: BACKGROUND_LIST,
      description:
        'Lists what goes on in the background. Not needed for getting results: those are handed to you by themselves. ' +
        'Answers when something has changed since it was called last.',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      execute: list,
    },
    {
      name: BACKGROUND_CANCEL,
      description: 'Cancels a call that goes on in the background.',
      inputSchema: {
        type: 'object',
        properties: {
          label: { type: 'string', description: 'as the call was named when it went on, e.g. "build #1"' },
        },
        required: ['label'],
        additionalProperties: false,
      },
      execute: cancel,
    },
  ];
}
