// A gateway on its own standard streams: the state's folder and the configuration are its arguments.
import type { GatewayConfig } from '../../../src/gateway/config/types.ts';
import { openGateway } from '../../../src/gateway/gateway.ts';

const [stateFolder, config] = process.argv.slice(2) as [string, string];
const gateway = await openGateway({ stateFolder, config: JSON.parse(config) as GatewayConfig });
await gateway.stdio().closed;
await gateway.close();
