import type { JsonObject } from '../../core/index.ts';
import type { Front } from '../../server/front/front.ts';
import { RUN } from './run-tool.ts';

/** What `longcall run` alone is shown: its one tool. */
export const runFront: Front = {
  view: async () => ({
    portrait: { serverInfo: undefined, instructions: undefined, capabilities: { tools: {} } },
    tools: new Map([[RUN, { listing, task: RUN }]]),
    serve: async () => undefined,
  }),
  shownAs: (task) => (task === RUN ? RUN : undefined),
  keyed: (name) => name === RUN,
  left: () => {},
  notified: () => {},
};

const listing: JsonObject = {
  name: RUN,
  description: 'Runs a command that was handed over with this connection.',
  inputSchema: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'Which one' },
      command: { type: 'array', items: { type: 'string' }, description: 'As people are shown it' },
      cwd: { type: 'string' },
      name: { type: 'string' },
      timeoutMs: { type: 'integer' },
    },
    required: ['id', 'command', 'cwd'],
  },
};
