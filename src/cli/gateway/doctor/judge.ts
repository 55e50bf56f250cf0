import { EXIT } from '../../errors.ts';
import { apiFindings } from './api-findings.ts';
import { clientFindings } from './client-findings.ts';
import { commandFindings } from './command-findings.ts';
import type { Facts } from './facts.ts';
import { type Finding, type Found, UNREADABLE } from './finding.ts';
import { daemonFindings, machineFindings } from './machine-findings.ts';
import { stateFindings } from './state-findings.ts';
import { upstreamFindings } from './upstream-findings.ts';

/** Everything that is to be said of what was found. */
export function judge(facts: Facts): Finding[] {
  const { upstreams, commands, apis, daemon, machine, state } = facts;
  const clients = daemon.running ? daemon.clients : [];
  return [
    ...upstreams.flatMap((one, at) =>
      about('upstream', upstreamFindings(one, machine.longcall), { name: one.name, at }),
    ),
    ...commands.flatMap((one, at) => about('command', commandFindings(one), { name: one.name, at })),
    ...apis.flatMap((one, at) => about('api', apiFindings(one), { name: one.name, at })),
    ...clients.flatMap((one, at) => about('client', clientFindings(one), { name: one.name, at })),
    ...about('daemon', daemonFindings(daemon, machine.longcall, state)),
    ...about('state', stateFindings(facts)),
    ...about('machine', machineFindings(machine, state.store?.newestAt)),
  ];
}

function about(what: Finding['about'], found: readonly Found[], which: Pick<Finding, 'name' | 'at'> = {}): Finding[] {
  return found.map(({ level, ...rest }) => ({ level, about: what, ...which, ...rest }));
}

/** @param options.strict warnings count too */
export function exitCodeOf(findings: readonly Finding[], { strict = false }: { strict?: boolean } = {}): number {
  if (findings.some(({ code }) => code === UNREADABLE)) return EXIT.infrastructure;
  const bad = findings.some(({ level }) => level === 'fail' || (strict && level === 'warn'));
  return bad ? EXIT.fault : EXIT.ok;
}
