import { startChild } from './children.ts';

/** A server in a process of its own, so that neither side of a ratio pays for the other or for the client. */
export interface ServerProcess {
  url: string;
  stop(): Promise<void>;
}

/** Starts `servers/<name>.ts`, which sends its URL once it listens. */
export async function startServer(name: string, args: string[] = []): Promise<ServerProcess> {
  const { process: child, gone } = startChild(name, args);
  const url = await Promise.race([
    new Promise<string>((resolve) => child.once('message', (message) => resolve(String(message)))),
    gone.then((status) => Promise.reject(new Error(`server ${name} ended with ${status} before it listened`))),
  ]);
  return {
    url,
    async stop() {
      if (child.connected) child.disconnect();
      await gone;
    },
  };
}
