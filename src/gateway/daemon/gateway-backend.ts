import { join } from 'node:path';
import type { JsonObject } from '../../core/index.ts';
import { openGateway } from '../gateway.ts';
import { CommandRuns } from '../runs/command-runs.ts';
import { shellRuns } from '../runs/shell-runs.ts';
import type { OpenBackend } from './backend.ts';

/** A gateway that begins without upstreams: fronts bring theirs, and each sees its own. So do those that bring commands. */
export const openGatewayBackend: OpenBackend = async ({ folder, logger }) => {
  const gateway = await openGateway({ stateFolder: folder, config: { upstreams: [] }, logger });
  const runs = new CommandRuns(gateway.tasks, shellRuns(join(folder, 'jobs')));
  return {
    serve(hello, streams) {
      if ('commands' in hello) return { name: 'longcall run', ...runs.serve(hello.commands, streams) };
      const { name, release } = gateway.wrap(hello.spec);
      const { close, closed } = gateway.serve(streams, { upstreams: [name] });
      return { name, close, closed: closed.finally(release) };
    },
    busy: async () => (await gateway.busy()) || (await runs.busy()),
    status: async () => (await gateway.status()) as unknown as JsonObject,
    close: () => gateway.close(),
  };
};
