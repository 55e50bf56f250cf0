export type {
  GatewayConfig,
  OwnToolConfig,
  ShellToolConfig,
  ToolPolicy,
  UpstreamConfig,
  UpstreamTarget,
} from './config/types.ts';
export { type Gateway, type GatewayOptions, type GatewayStatus, openGateway } from './gateway.ts';
