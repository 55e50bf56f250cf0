// The two things the demo shows. Each tells the client what to do, kills the server under it, and checks the outcome.
import type { ClientProcess } from './client-process.ts';
import { type Checks, readStepLog, repeated } from './evidence.ts';
import type { Fingerprint } from './messages.ts';
import { heading, say, seconds } from './screen.ts';
import type { ServerProcess } from './server-process.ts';

/** Long enough to see one half go by and to kill the server in the other, whatever the folder. */
const AT_LEAST_MS = 5_000;
const HANDLE_WITHIN_MS = 1_000;

export interface Cast {
  server: ServerProcess;
  client: ClientProcess;
  /** What the steps themselves have written down. */
  stepLog: string;
  checks: Checks;
}

interface TaskBody {
  status: string;
  error?: { message: string };
  result?: { content: { text?: string }[]; structuredContent?: Fingerprint & { steps: number; waitedMs: number } };
}

/** Kills the server half-way through the steps. Returns figures for the last line. */
export async function outliveAKill(cast: Cast, folder: string, truth: Fingerprint): Promise<string> {
  const { server, client, stepLog, checks } = cast;
  heading('1. Killed half-way through the work');
  client.send({ type: 'fingerprint', folder, atLeastMs: AT_LEAST_MS });
  const handle = await client.until('handle');
  const half = await client.until('progress', ({ done, total }) => done * 2 >= total);
  const killed = server.pid;
  await server.kill();
  const killedAt = Date.now();
  const begunAtKill = readStepLog(stepLog);
  say('conductor', `kill -9 ${killed} at ${half.done}/${half.total}, then the same command on the same database`);
  await server.started(client);
  const back = await client.until('back');
  const { first, second } = await client.until('result');

  const task = JSON.parse(first) as TaskBody;
  const log = readStepLog(stepLog);
  const steps = new Set(log.map(({ step }) => step));
  const goneOn = log.filter(({ pid }) => pid !== killed);
  const twice = repeated(log);
  const { steps: reported = 0, waitedMs = 0, ...found } = task.result?.structuredContent ?? {};
  const pauseMs = (goneOn[0]?.at ?? Number.NaN) - killedAt;
  say('conductor', `${log.length - goneOn.length} steps began in process ${killed}, ${goneOn.length} in ${server.pid}`);
  say('', `the work stood still for ${seconds(pauseMs)}, the server was out of reach for ${seconds(back.downMs)}`);
  if (waitedMs > 0) say('', `so that there was a middle to kill in, the steps waited for ${seconds(waitedMs)} in all`);

  checks.holds('the handle came within a second', handle.ms <= HANDLE_WITHIN_MS, `${HANDLE_WITHIN_MS} ms`, handle.ms);
  checks.equal('the handle said that the task is working', handle.status, 'working');
  checks.holds('the kill fell in the middle', begunAtKill.length < reported, `< ${reported}`, begunAtKill.length);
  checks.equal('the task was open when the server came back', back.status, 'working');
  checks.holds(
    'another process went on with it',
    goneOn.length > 0 && server.pid !== killed,
    'steps begun',
    goneOn.length,
  );
  checks.equal('the task is completed', task.error?.message ?? task.status, 'completed');
  checks.equal('the result is the same when fetched again', second, first);
  checks.equal('the result is what was worked out beforehand', found, truth);
  checks.equal('every step began', steps.size, reported);
  checks.holds(
    'no step ran twice but the one that was cut',
    onlyTheCut(twice, begunAtKill),
    'none, or that one',
    twice.steps.join(', '),
  );
  return (
    `${reported} steps, ${twice.steps.length} ran twice, handle in ${handle.ms.toFixed(0)} ms, ` +
    `stood still for ${seconds(pauseMs)}, ${truth.files} files`
  );
}

/** Kills the server while the task waits for an answer. */
export async function outliveAKillWhileAsking(cast: Cast, truth: Fingerprint): Promise<void> {
  const { server, client, stepLog, checks } = cast;
  heading('2. Killed while it waits for an answer');
  const before = readStepLog(stepLog).length;
  client.send({ type: 'publish', fingerprint: truth.fingerprint });
  const handle = await client.until('handle');
  const asked = await client.until('asked');
  const killed = server.pid;
  await server.kill();
  say('conductor', `kill -9 ${killed} while the question is open, then the same command on the same database`);
  client.send({ type: 'killed' });
  await server.started(client);
  const back = await client.until('back');
  const again = await client.until('asked');
  const { first, second } = await client.until('result');

  const task = JSON.parse(first) as TaskBody;
  const log = readStepLog(stepLog).slice(before);
  const said = task.result?.content[0]?.text;
  say('client', `reads: ${said}`);
  checks.holds('the handle came within a second', handle.ms <= HANDLE_WITHIN_MS, `${HANDLE_WITHIN_MS} ms`, handle.ms);
  checks.equal('the question was still open after the restart', back.status, 'input_required');
  checks.equal('it was the same question, under the same key', [again.key, again.message], [asked.key, asked.message]);
  checks.equal('the task is completed', task.error?.message ?? task.status, 'completed');
  checks.equal(
    'the result has the answer in it',
    said,
    `published as demo-${truth.fingerprint.slice(0, 12)}, not listed`,
  );
  checks.equal('the result is the same when fetched again', second, first);
  checks.equal(
    'each step ran once, in its own process',
    log.map(({ step, pid }) => [step, pid]),
    [
      ['shorten', killed],
      ['publish', server.pid],
    ],
  );
}

/** At most the last step that began before the kill may have begun again, and no step a third time. */
function onlyTheCut(twice: ReturnType<typeof repeated>, begunAtKill: { step: string }[]): boolean {
  return twice.most <= 2 && twice.steps.every((step) => step === begunAtKill.at(-1)?.step);
}
