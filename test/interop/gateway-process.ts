// The gateway that `npm run interop` puts before the server of test/interop/server-process.ts: `gateway-process.ts FOLDER URL OPTIONS`.
// It tells where it listens, and ends with its IPC channel.
import { join } from 'node:path';
import type { ServerOptions } from '../../scripts/interop/site.ts';
import type { ToolPolicy } from '../../src/gateway/config/types.ts';
import { openGateway } from '../../src/gateway/gateway.ts';

const [folder = '.', url = '', json = '{}'] = process.argv.slice(2);
const { detachAfterMs } = JSON.parse(json) as ServerOptions;

const target = { url, headers: {}, forwardAuthorization: false };
const policy: ToolPolicy = { mode: 'task', ...(detachAfterMs !== undefined && { fallback: { detachAfterMs } }) };
const tools: { match: string; policy: ToolPolicy }[] = [
  { match: 'must_*', policy: { support: 'required' } },
  { match: 'greet', policy: { mode: 'direct' } },
];
const gateway = await openGateway({
  stateFolder: join(folder, 'gateway'),
  config: { upstreams: [{ name: 'interop', target, prefix: '', policy, tools }] },
});
const listening = await gateway.listen({ port: 0 });
process.once('disconnect', () => void gateway.close());
process.send?.(listening.url);
