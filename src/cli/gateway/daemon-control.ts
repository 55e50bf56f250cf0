import { isJsonObject, type JsonObject, type JsonValue, systemClock, systemRandom } from '../../core/index.ts';
import { type ControlOptions, daemonStatus, killDaemon, stopDaemon } from '../../gateway/daemon/control.ts';
import { daemonFolder } from '../../gateway/daemon/private-folder.ts';
import { version } from '../../gateway/version.ts';
import { EXIT } from '../errors.ts';
import { iso, oneLine } from '../format.ts';
import type { Output } from '../output.ts';
import type { DaemonCommandOptions } from './daemon.ts';

/** @returns 0 when it runs, 3 when it does not */
export async function showStatus({ state, json }: DaemonCommandOptions, output: Output): Promise<number> {
  const options = controlOf(state);
  const status = await daemonStatus(options);
  const running = status !== undefined;
  if (json) await output.json({ running, ...(status ?? { folder: options.folder }) });
  else await output.write(status === undefined ? `not running\nfolder      ${options.folder}\n` : textOf(status));
  return running ? EXIT.ok : EXIT.notFound;
}

export async function stop(options: DaemonCommandOptions & { now?: boolean }, output: Output): Promise<void> {
  const control = controlOf(options.state);
  if (options.now !== true) {
    const stopped = await stopDaemon(control);
    if (options.json) await output.json({ stopped });
    else await output.write(stopped ? 'stopped\n' : 'not running\n');
    return;
  }
  const pid = await killDaemon(control);
  if (options.json) await output.json({ stopped: pid !== undefined, ...(pid !== undefined && { killed: pid }) });
  else await output.write(pid === undefined ? 'not running\n' : `killed process ${pid}\n`);
}

function controlOf(state: string | undefined): ControlOptions {
  const folder = daemonFolder(state, process.env);
  return { folder, version: version(), clock: systemClock, random: systemRandom };
}

function textOf({ pid, version: release, startedAt, folder, fronts, gateway, busy }: JsonObject): string {
  const open = isJsonObject(gateway) ? gateway['openTasks'] : undefined;
  const served = Array.isArray(fronts) ? fronts : [];
  const rows = [
    ['running', `process ${String(pid)}, version ${String(release)}, since ${timeOf(startedAt)}`],
    ['folder', String(folder)],
    ['open tasks', typeof open === 'number' ? String(open) : busy === true ? 'some' : 'none'],
    ['hosts', String(served.length)],
    ...served.map((front) => ['', isJsonObject(front) ? frontOf(front) : '']),
  ];
  return rows.map(([name = '', value = '']) => `${`${name.padEnd(12)}${oneLine(value)}`.trimEnd()}\n`).join('');
}

function frontOf({ client, upstream, folder, since }: JsonObject): string {
  const who = typeof client === 'string' ? client : 'a host';
  return `${who} uses ${String(upstream)} in ${String(folder)}, since ${timeOf(since)}`;
}

function timeOf(at: JsonValue | undefined): string {
  return typeof at === 'number' ? iso(at) : '?';
}
