// For examples with a client of longcall's own: where the server is, instead of a connection to it.
import type { ConnectOptions } from 'longcall/client';
import type { Connectors } from './on-each-transport.ts';

export interface Where {
  target: ConnectOptions;
  close(): Promise<void>;
}

const nothing = async (): Promise<void> => {};

export const where: Connectors<Where> = {
  http: async (url) => ({ target: { url }, close: nothing }),
  stdio: async (command, args, env) => ({ target: { command, args, env }, close: nothing }),
};
