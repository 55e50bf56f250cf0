// A gateway before each of the servers that `npm run conformance` tests, which are tested through it too: started with a folder for
// its state and their addresses, it tells its own. It ends with its IPC channel, as they do.
import { join } from 'node:path';
import { pino } from 'pino';
import type { ToolPolicy } from '../../src/gateway/config/types.ts';
import { type Gateway, openGateway } from '../../src/gateway/gateway.ts';
import type { FixtureUrls } from './server.ts';

const [folder, addresses] = process.argv.slice(2);
if (folder === undefined || addresses === undefined || process.send === undefined) {
  throw new Error('started by scripts/conformance.ts, with a folder, addresses and an IPC channel');
}
const behind = JSON.parse(addresses) as FixtureUrls;
const said = pino({ level: 'warn' }, pino.destination(2));

/** @param tools those that are served otherwise than the rest */
function before(name: keyof FixtureUrls, policy: ToolPolicy, tools: Record<string, ToolPolicy> = {}): Promise<Gateway> {
  const target = { url: behind[name], headers: {}, forwardAuthorization: false };
  const own = Object.entries(tools).map(([match, policy]) => ({ match, policy }));
  const upstreams = [{ name, target, prefix: '', policy, tools: own }];
  return openGateway({ stateFolder: join(folder as string, `before-${name}`), config: { upstreams }, logger: said });
}

const tasks = await before(
  'tasks',
  { mode: 'task' },
  { greet: { mode: 'direct' }, failing_job: { support: 'required' } },
);
const everything = await before('everything', { mode: 'direct' });
const urls: FixtureUrls = {
  tasks: (await tasks.listen({ port: 0 })).url,
  everything: (await everything.listen({ port: 0 })).url,
};

process.once('disconnect', () => void Promise.all([tasks.close(), everything.close()]));
// Ctrl-C reaches the whole process group; the parent says when to end.
process.on('SIGINT', () => {});
process.send(urls);
