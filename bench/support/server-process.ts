import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A server in a process of its own, so that neither side of a ratio pays for the other or for the client. */
export interface ServerProcess {
  url: string;
  stop(): Promise<void>;
}

/** Starts `servers/<name>.ts`, which sends its URL once it listens and ends when the channel closes. */
export async function startServer(name: string, args: string[] = []): Promise<ServerProcess> {
  const file = fileURLToPath(new URL(`../servers/${name}.ts`, import.meta.url));
  const child = fork(file, args, { stdio: ['ignore', 2, 2, 'ipc'] }); // Our stdout is for the figures alone.
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const url = await Promise.race([
    new Promise<string>((resolve) => child.once('message', (message) => resolve(String(message)))),
    gone.then((status) => Promise.reject(new Error(`server ${name} ended with status ${status} before it listened`))),
  ]);
  return {
    url,
    async stop() {
      if (child.connected) child.disconnect();
      await gone;
    },
  };
}
