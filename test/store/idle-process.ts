// Has the store open as an idle server has: woken by the commits of others, it looks and goes back to sleep. Says `ready`,
// and `looked` when it has done so for the first time; ends when its input does.
import { once } from 'node:events';
import { systemClock, systemRandom } from '../../src/core/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { silent } from '../support/stores.ts';

const { store, dispatcher } = await sqliteStore(process.argv[2] as string).open({
  clock: systemClock,
  random: systemRandom,
  logger: silent,
});
let looked = false;
const look = async (): Promise<void> => {
  await store.list({ limit: 10 });
  if (!looked) process.stdout.write('looked\n');
  looked = true;
};
dispatcher.onBell(() => void look().catch(() => {})); // It may be closed by then.
process.stdout.write('ready\n');
process.stdin.resume();
await once(process.stdin, 'end');
await store.close();
