import type { TaskClient } from '../client/index.ts';
import type { JsonObject } from '../core/index.ts';
import type { Upstream } from './upstream.ts';
import type { StdioStatus } from './upstreams/supervised-stdio.ts';

export interface UpstreamStatus {
  name: string;
  prefix: string;
  /** The command or address, without what might be secret. */
  target: string;
  lanes: LaneStatus[];
}

export interface LaneStatus {
  /** The protocol version agreed on. */
  protocol: string;
  /** How the upstream does tasks: its revision, `companions`, or `none`. */
  tasks: string;
  server: JsonObject | undefined;
  /** Calls that are followed. */
  openCalls: number;
  /** Of an upstream that is a process. */
  process: StdioStatus | undefined;
  /** Clients are connected by it, or wait for an answer. */
  busy: boolean;
}

export function statusOf({ config, lanes }: Upstream, client: TaskClient): UpstreamStatus {
  const { name, prefix, target } = config;
  return {
    name,
    prefix,
    target: 'command' in target ? target.command : placeOf(target.url),
    lanes: lanes.open.map(({ name: lane, link, server, busy, stdio }) => ({
      process: stdio?.status(),
      protocol: link.version,
      tasks: server.revision,
      server: link.serverInfo,
      openCalls: client.followed(lane),
      busy,
    })),
  };
}

/** Never with a password that is part of an address. */
function placeOf(address: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname}`;
}
