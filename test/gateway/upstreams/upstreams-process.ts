// A gateway that starts an upstream, notes it, says what it started, and lives until it is killed.
import { connectRemote } from '../../../src/client/index.ts';
import { systemClock } from '../../../src/core/index.ts';
import { ProcessNotes } from '../../../src/gateway/upstreams/orphans.ts';
import { supervisedStdio } from '../../../src/gateway/upstreams/supervised-stdio.ts';
import { silent } from '../../support/stores.ts';

const [folder, ...args] = process.argv.slice(2) as [string, ...string[]];
const notes = new ProcessNotes(folder, { clock: systemClock, logger: silent });
const upstream = supervisedStdio({
  command: process.execPath,
  args,
  onProcess: (identity) => {
    process.send?.(identity);
    return notes.add(identity);
  },
});
const remote = await connectRemote({ ...upstream });
const started = await remote.start({ name: 'family', arguments: {}, idempotencyKey: 'family' });
process.send?.(started);
