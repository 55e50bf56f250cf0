// Creates tasks as fast as it can and prints each id once it is acknowledged; ends by being killed.
import { systemClock, systemRandom } from '../../src/core/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { aTask } from '../../src/testing/index.ts';
import { silent } from '../support/stores.ts';

const { store } = await sqliteStore(process.argv[2] as string).open({
  clock: systemClock,
  random: systemRandom,
  logger: silent,
});

async function write(): Promise<void> {
  for (;;) {
    const { task } = await store.create(aTask());
    process.stdout.write(`${task.taskId}\n`);
  }
}
await Promise.all(Array.from({ length: 8 }, write));
