import { duration } from '../../format.ts';
import type { DaemonFacts, MachineFacts, StateFacts } from './facts.ts';
import { counted, type Found, fail, ok, warn } from './finding.ts';

/** Timers and leases are measured otherwise; dates that people see would be wrong. */
const JUMP_MS = 1_000;
/** Two processes of one machine read the clock at different moments. */
const AHEAD_MS = 60_000;
const FIRST_YEAR = 2025;
const LAST_YEAR = 2100;

export function machineFindings(machine: MachineFacts, newestAt: number | undefined): Found[] {
  return [nodeFinding(machine), clockFinding(machine, newestAt)];
}

function nodeFinding({ node, wantedNode, longcall, sqlite, platform }: MachineFacts): Found {
  const least = /(\d+)\.(\d+)/.exec(wantedNode);
  const is = /^v?(\d+)\.(\d+)/.exec(node);
  const text = `longcall ${longcall}, Node ${node}, SQLite ${sqlite}, ${platform}`;
  if (least === null || is === null) return ok('versions', text);
  const [major = 0, minor = 0] = is.slice(1).map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.slice(1).map(Number);
  const fits = major > leastMajor || (major === leastMajor && minor >= leastMinor);
  return fits
    ? ok('versions', text)
    : fail(
        'node-too-old',
        `${text}: longcall runs on Node ${wantedNode}`,
        `install Node ${leastMajor}.${leastMinor} or later`,
      );
}

function clockFinding({ now, clockJumpMs }: MachineFacts, newestAt: number | undefined): Found {
  const year = new Date(now).getUTCFullYear();
  const advice = 'have the clock set by the network (NTP): tasks are kept and deleted by it';
  if (!(year >= FIRST_YEAR && year <= LAST_YEAR)) {
    return fail('clock-wrong', `the clock says it is the year ${year}`, advice);
  }
  if (newestAt !== undefined && newestAt - now > AHEAD_MS) {
    return warn('clock-set-back', `the clock is ${duration(newestAt - now)} behind the newest task`, advice);
  }
  if (Math.abs(clockJumpMs) >= JUMP_MS) {
    return warn('clock-jumped', `the clock jumped by ${clockJumpMs} ms while this looked`, advice);
  }
  return ok('clock', `the clock says ${new Date(now).toISOString()}`);
}

/** @param own the version of this command */
export function daemonFindings(daemon: DaemonFacts, own: string, { of }: StateFacts): Found[] {
  if (!daemon.running) {
    if (daemon.trouble !== undefined) {
      return [
        fail('daemon-untrusted', daemon.trouble, 'longcall daemon stop --now ends it; its tasks go on with the next'),
      ];
    }
    if (of === 'gateway')
      return [ok('daemon-none', 'no daemon has this folder; who serves it from a file tells nothing of its clients')];
    return [ok('daemon-none', 'no daemon runs; a host that starts longcall wrap starts it')];
  }
  const { pid, version, hosts, openTasks, startedAt } = daemon;
  const since = new Date(startedAt).toISOString();
  const text = `process ${pid}, version ${version}, since ${since}; ${counted(hosts, 'host')}, ${counted(openTasks, 'open task')}`;
  if (version === own) return [ok('daemon-runs', text)];
  return [
    warn(
      'daemon-version',
      `${text}; this is version ${own}`,
      'longcall daemon stop: its tasks go on with the next one, which is of the version of the host that starts it',
    ),
  ];
}
