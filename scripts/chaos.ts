// `npm run chaos -- --rounds N --seed S`: real processes on one database, killed, drained and stopped at moments that the
// seed chooses, while tasks of every kind are created, answered and cancelled. What became of each is held against what
// its handlers wrote down themselves. A seed repeats the choices; how they meet is up to the machine. Every fourth round has
// a gateway between a host and its servers, and kills what stands there.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createTasks, sqliteStore } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { clientOf } from '../test/chaos/client.ts';
import type { Violation } from '../test/chaos/evidence.ts';
import { type GatewayReport, gatewayRound } from '../test/chaos/gateway/round.ts';
import { Chaos, type RoundReport } from '../test/chaos/round.ts';
import { settings } from '../test/chaos/settings.ts';
import { figures } from '../test/chaos/takeovers.ts';
import { registerTools } from '../test/chaos/tools.ts';
import { Wings } from '../test/chaos/wings.ts';

/** What went wrong with more tasks than these is counted and not told. */
const MAX_TOLD = 5;
const GATEWAY_EVERY = 4;

const { values } = parseArgs({ options: { rounds: { type: 'string' }, seed: { type: 'string' } } });
const rounds = Number(values.rounds ?? 20);
const seed = Number(values.seed ?? Date.now() % 1_000_000);
if (!Number.isSafeInteger(rounds) || rounds < 1 || !Number.isSafeInteger(seed)) {
  throw new RangeError(`--rounds and --seed are whole numbers, got ${values.rounds} and ${values.seed}`);
}

const folder = mkdtempSync(join(tmpdir(), 'longcall-chaos-'));
const oddities = new Map<string, number>();
const violations: Violation[] = [];
const told = new Set<string>();
const done: RoundReport[] = [];
const gatewayDone: GatewayReport[] = [];
const database = join(folder, 'db', 'tasks.db');
const notes = join(folder, 'notes');
mkdirSync(notes);

const silent = (): void => {};
const tasks = createTasks({
  store: sqliteStore(database),
  ...settings,
  slots: 0,
  logger: { debug: silent, info: silent, warn: silent, error: (...args: unknown[]) => odd(JSON.stringify(args)) },
});
registerTools(tasks, notes, 'driver');
const front = createTaskServer(tasks, { name: 'chaos', version: '1.0.0' });
const direct = clientOf('http://localhost/mcp', (request) => front.fetch(request));
const wings = new Wings([database, notes], 3);
const chaos = new Chaos(tasks, direct, notes, { wings, onOddity: odd });

process.once('exit', cleanUp);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, async () => {
    console.log(`chaos: ended by ${signal} after ${done.length + gatewayDone.length} rounds, seed ${seed}`);
    await wings.destroy(); // Not all at once: who started us takes a process that does not come back for hung.
    process.exit(1);
  });
}

try {
  for (let round = 1; round <= rounds; round += 1) {
    if (round % GATEWAY_EVERY === 0) {
      const report = await gatewayRound(round, seed, folder);
      gatewayDone.push(report);
      tellGateway(round, report);
      await record(report.violations, report.story);
      continue;
    }
    const report = await chaos.round(round, seed);
    done.push(report);
    tell(round, report);
    await record(report.violations, story);
  }
  await record(await chaos.endingsStand(), story);
} finally {
  await wings.destroy();
  await front.close();
}
summarise();
// Pipes of hosts that were killed in mid-sentence may still be held; there is nothing more to come of them.
process.exit();

/** On every way out: nothing is left running, and nothing is left lying. */
function cleanUp(): void {
  void wings.destroy();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }); // The last may still be dying.
}

function tell(round: number, report: RoundReport): void {
  const { created, ended, waiting, blows, cutOff, takeovers, violations: found, ms } = report;
  const trouble = found.length === 0 ? '' : `, ${found.length} VIOLATIONS`;
  const ran = `${created} tasks created, ${ended} ended, ${waiting} waiting`;
  const met = `${blows} blows cut off ${cutOff} runs, takeovers ${figures(takeovers)}`;
  console.log(`round ${round}: ${ran}; ${met}; ${(ms / 1000).toFixed(1)} s${trouble}`);
}

function tellGateway(round: number, { plan, calls, ends, blows, violations: found, ms }: GatewayReport): void {
  const trouble = found.length === 0 ? '' : `, ${found.length} VIOLATIONS`;
  const ended = [...ends].map(([kind, count]) => `${count} ${kind}`).join(', ');
  const met = blows.map(({ parts }) => parts.join(' and ')).join(', ');
  const how = `through a gateway (${plan.way}, ${plan.protocol})`;
  console.log(`round ${round}: ${calls} calls ${how}: ${ended}; killed: ${met}; ${(ms / 1000).toFixed(1)} s${trouble}`);
}

async function story(taskId: string): Promise<string> {
  return chaos.story(taskId);
}

async function record(
  found: readonly Violation[],
  tellAll: (taskId: string) => string | Promise<string>,
): Promise<void> {
  for (const { kind, taskId, sentence } of found) {
    violations.push({ kind, taskId, sentence });
    if (told.size >= MAX_TOLD && !told.has(taskId)) continue;
    console.log(`${kind}: ${taskId}: ${sentence}`);
    if (!told.has(taskId)) console.log((await tellAll(taskId)).replace(/^/gm, '  '));
    told.add(taskId);
  }
}

function summarise(): void {
  const total = (field: 'created' | 'ended' | 'blows' | 'cutOff'): number =>
    done.reduce((sum, report) => sum + report[field], 0);
  const takeovers = done.flatMap((report) => report.takeovers);
  for (const [what, times] of oddities) console.log(`odd, ${times} times: ${what}`);
  const waiting = total('created') - total('ended');
  console.log(
    `tasks: ${total('created')} acknowledged, ${total('ended')} done, ${waiting} wait for an answer not given`,
  );
  console.log(`answers: ${chaos.answered} acknowledged`);
  console.log(`processes: ${chaos.lives.length} started, ${total('blows')} blows cut off ${total('cutOff')} runs`);
  console.log(`takeover with a survivor: ${figures(takeovers.filter(({ survivor }) => survivor))}`);
  console.log(`takeover in all: ${figures(takeovers)}`);
  const gatewayBlows = gatewayDone.reduce((sum, { blows }) => sum + blows.length, 0);
  const gatewayCalls = gatewayDone.reduce((sum, { calls }) => sum + calls, 0);
  console.log(`gateways: ${gatewayDone.length} rounds, ${gatewayCalls} calls, ${gatewayBlows} blows`);
  const all = done.length + gatewayDone.length;
  const count = (kind: Violation['kind']): number => violations.filter((violation) => violation.kind === kind).length;
  if (count('stuck') + count('wrong') > 0) console.log(`${count('stuck')} stuck, ${count('wrong')} otherwise wrong`);
  console.log(`chaos: ${all} rounds, ${count('lost')} lost, ${count('doubled')} doubled, seed ${seed}`);
  process.exitCode = violations.length === 0 && oddities.size === 0 && all === rounds ? 0 : 1;
}

function odd(what: string): void {
  oddities.set(what, (oddities.get(what) ?? 0) + 1);
}
