import { isJsonObject, type JsonObject, type JsonValue } from '../../../core/index.ts';
import { type ControlOptions, daemonStatus } from '../../../gateway/daemon/control.ts';
import { DaemonError } from '../../../gateway/daemon/errors.ts';
import type { ClientFacts, DaemonFacts } from './facts.ts';

/** Asks the daemon of a folder, if one runs. */
export async function lookAtDaemon(options: ControlOptions): Promise<DaemonFacts> {
  let status: JsonObject | undefined;
  try {
    status = await daemonStatus(options);
  } catch (error) {
    if (!(error instanceof DaemonError)) throw error;
    // Of a folder that cannot be used it is told with the folder.
    return { running: false, ...(error.code !== 'DAEMON_FOLDER' && { trouble: error.message }) };
  }
  return status === undefined ? { running: false } : running(status);
}

/** As it says; what an older one leaves out is not there. */
function running({ pid, version, startedAt, fronts, gateway }: JsonObject): DaemonFacts {
  const { upstreams, clients, openTasks } = isJsonObject(gateway) ? gateway : {};
  return {
    running: true,
    pid: Number(pid),
    version: String(version),
    startedAt: Number(startedAt),
    hosts: list(fronts).length,
    openTasks: Number(openTasks ?? 0),
    upstreams: list(upstreams).map(({ name }) => String(name)),
    clients: list(clients).map(clientOf),
  };
}

function clientOf({ name, version, protocol, tasks, asks, lastSeenAt }: JsonObject): ClientFacts {
  return {
    name: String(name),
    ...(typeof version === 'string' && { version }),
    protocol: String(protocol ?? ''),
    tasks: tasks === 'extension' || tasks === 'session' ? tasks : 'none',
    asks: Array.isArray(asks) ? asks.map(String) : [],
    lastSeenAt: Number(lastSeenAt ?? 0),
  };
}

function list(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
