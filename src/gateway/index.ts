export type { GatewayConfig, ToolPolicy, UpstreamConfig, UpstreamTarget } from './config/types.ts';
export { type Gateway, type GatewayOptions, type GatewayStatus, openGateway } from './gateway.ts';
