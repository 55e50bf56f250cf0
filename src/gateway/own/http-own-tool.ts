import { inputChecker } from '../../adapters/http/check-input.ts';
import { type HttpToolOptions, httpTool } from '../../adapters/index.ts';
import { type Clock, type JobAdapter, type JsonObject, type JsonValue, NonRetryableError } from '../../core/index.ts';
import type { HttpToolConfig } from '../config/types.ts';
import { ownTaskName } from './own-kinds.ts';
import { type OwnKind, type OwnTool, registerOwn } from './own-tool.ts';

const KIND = 'http';

/** An operation of an API, of the configuration, as a tool. */
export function httpOwnTool(config: HttpToolConfig, clock: Clock): OwnTool {
  const { name, options } = config;
  const task = ownTaskName(KIND, name);
  return {
    config,
    task,
    register: (tasks) => {
      registerOwn(tasks, task, config, { adapter: anyRef({ ...options, clock }), problemOf: inputChecker(options) });
    },
  };
}

export const httpKind: OwnKind = {
  kind: KIND,
  followed: (name) => {
    const config = { name, input: { type: 'object' }, policy: {}, secrets: [] };
    const task = ownTaskName(KIND, name);
    return { config, task, register: (tasks) => registerOwn(tasks, task, config, { adapter: gone(name) }) };
  },
};

/** Which tool of the gateway's own a hook is for. */
export function hookTask(name: string): string {
  return ownTaskName(KIND, name);
}

function anyRef(options: HttpToolOptions): JobAdapter<JsonObject, JsonValue> {
  return httpTool(options) as unknown as JobAdapter<JsonObject, JsonValue>;
}

/** What it takes to ask the API is not in the configuration any more: nobody can tell how its jobs stand, until it is again. */
function gone(name: string): JobAdapter<JsonObject, JsonValue> {
  const message = `${name} is not in the configuration any more`;
  const cannot = (): Promise<never> => Promise.reject(Object.assign(new Error(message), { code: 'NOT_CONFIGURED' }));
  return {
    kind: KIND,
    caps: { cancel: 'request', logs: 'none', input: false, push: false, idempotentStart: false },
    start: () => Promise.reject(new NonRetryableError(`${message}: it was not started`)),
    find: cannot,
    poll: cannot,
    cancel: cannot,
  };
}
