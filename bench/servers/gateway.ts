// A gateway: `gateway.ts FOLDER UPSTREAMS [stdio]`, the upstreams as JSON. It listens over HTTP and tells where, or serves its parent
// on stdin and stdout. Told `memory`, it tells what it has in use once its garbage is collected.
import { openGateway } from '../../src/gateway/gateway.ts';
import { pause } from '../support/machine-time.ts';

const [folder = '', upstreams = '[]', how] = process.argv.slice(2);
const MB = 1024 * 1024;
const gateway = await openGateway({ stateFolder: folder, config: { upstreams: JSON.parse(upstreams) } });
if (how === 'stdio') {
  await gateway.stdio().closed;
  await gateway.close();
  process.exit();
}
const { url } = await gateway.listen({ port: 0 });
process.on('message', () => void memory().then((found) => process.send?.(found)));
process.once('disconnect', () => void gateway.close().then(() => process.exit()));
process.send?.(url);

async function memory(): Promise<{ rss: number; heap: number }> {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error('memory: needs --expose-gc');
  for (let round = 0; round < 3; round += 1) {
    gc();
    await pause(100);
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { rss: rss / MB, heap: heapUsed / MB };
}
