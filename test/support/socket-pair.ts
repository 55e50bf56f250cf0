import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { scratchFolder } from './stores.ts';

/** Both ends of a Unix socket, which go with the test. */
export async function socketPair(): Promise<[near: Socket, far: Socket]> {
  const folder = scratchFolder();
  const server = createServer();
  server.listen(join(folder.path, 's'));
  await once(server, 'listening');
  const near = connect(join(folder.path, 's'));
  const [[far]] = (await Promise.all([once(server, 'connection'), once(near, 'connect')])) as [[Socket], unknown];
  server.close();
  onTestFinished(() => {
    near.destroy();
    far.destroy();
    folder.remove();
  });
  return [near, far];
}
