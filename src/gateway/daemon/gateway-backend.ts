import type { JsonObject } from '../../core/index.ts';
import { openGateway } from '../gateway.ts';
import type { OpenBackend } from './backend.ts';

/** A gateway that begins without upstreams: fronts bring theirs, and each sees its own. */
export const openGatewayBackend: OpenBackend = async ({ folder, logger }) => {
  const gateway = await openGateway({ stateFolder: folder, config: { upstreams: [] }, logger });
  return {
    serve({ spec }, streams) {
      const { name, release } = gateway.wrap(spec);
      const { close, closed } = gateway.serve(streams, { upstreams: [name] });
      return { name, close, closed: closed.finally(release) };
    },
    busy: () => gateway.busy(),
    status: async () => (await gateway.status()) as unknown as JsonObject,
    close: () => gateway.close(),
  };
};
