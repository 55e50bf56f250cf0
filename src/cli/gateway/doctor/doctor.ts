import { resolve } from 'node:path';
import { systemClock, systemRandom } from '../../../core/index.ts';
import { stopOnSignals } from '../../../engine/signals.ts';
import { daemonFolder } from '../../../gateway/daemon/private-folder.ts';
import { version } from '../../../gateway/version.ts';
import type { Output } from '../../output.ts';
import type { Facts, UpstreamFacts } from './facts.ts';
import { exitCodeOf, judge } from './judge.ts';
import { lookAtApi } from './look-api.ts';
import { lookAtDaemon } from './look-daemon.ts';
import { watchMachine } from './look-machine.ts';
import { lookAtState } from './look-state.ts';
import { lookAtUpstream } from './look-upstream.ts';
import { type AllNamed, allNamed, type Named, type NamingOptions } from './named.ts';
import { jsonOf, textOf } from './report.ts';

export interface DoctorOptions extends NamingOptions {
  state?: string;
  timeout: number;
  strict?: boolean;
  json?: boolean;
}

/** More at once would measure each other. */
const AT_ONCE = 4;

/** Looks at what is named, at the daemon, the state and the machine. @returns the exit code */
export async function doctor(
  file: string | undefined,
  options: DoctorOptions,
  command: readonly string[],
  output: Output,
): Promise<number> {
  const named = await allNamed(file, options, command, process.env, output);
  const facts = await gather(named, options, file);
  const findings = judge(facts);
  if (options.json === true) await output.json(jsonOf(facts, findings));
  else await output.write(textOf(facts, findings, output.colors));
  return exitCodeOf(findings, options);
}

async function gather(
  { upstreams, commands, apis, gateway }: AllNamed,
  { state, timeout }: DoctorOptions,
  file: string | undefined,
): Promise<Facts> {
  const machine = watchMachine(systemClock);
  const named = state === undefined ? gateway?.stateFolder : resolve(state);
  const folder = named ?? daemonFolder(undefined, process.env);
  const of = gateway === undefined || named === undefined ? 'daemon' : 'gateway';
  const options = { folder, version: version(), clock: systemClock, random: systemRandom };
  const daemon = await lookAtDaemon(options);
  return {
    daemon,
    state: await lookAtState(folder, of, systemClock),
    upstreams: await lookedAt(upstreams, timeout),
    commands,
    apis: await Promise.all(apis.map((tool) => lookAtApi(tool, file ?? '', timeout))),
    machine: machine(),
    ...(of === 'gateway' && gateway !== undefined && { configured: gateway.upstreams.map(({ name }) => name) }),
  };
}

/** What was started for it is ended also when this is. */
async function lookedAt(upstreams: readonly Named[], timeoutMs: number): Promise<UpstreamFacts[]> {
  const ends = new Set<() => Promise<void>>();
  const removeHandlers = stopOnSignals(async () => {
    await Promise.all([...ends].map((end) => end()));
  });
  const facts: UpstreamFacts[] = [];
  const left = [...upstreams.entries()];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [at, named] = next;
      const onStarted = (end: () => Promise<void>): void => void ends.add(end);
      const options = { timeoutMs, version: version(), clock: systemClock, random: systemRandom, onStarted };
      facts[at] = await lookAtUpstream(named, options);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  } finally {
    removeHandlers();
  }
  return facts;
}
