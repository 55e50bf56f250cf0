// The demo's client process: calls, shows the handle, polls through whatever happens to the server, answers, and
// fetches the result twice. The conductor says when to begin and is told what was seen.
import { on } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { TaskView } from '../support/task-client.ts';
import type { FromClient, ToClient } from './messages.ts';
import { ProgressBar, say } from './screen.ts';
import { Session } from './session.ts';

const RETRY_MS = 200;

const orders = on(process, 'message') as AsyncIterableIterator<[ToClient]>;

async function next(): Promise<ToClient> {
  const { value } = await orders.next();
  return value[0];
}

function tell(message: FromClient): void {
  if (process.connected) process.send?.(message);
}

async function main(): Promise<void> {
  tell({ type: 'ready' });
  const first = await next();
  if (first.type !== 'connect') throw new Error(`expected to be told where the server is, got ${first.type}`);
  const session = new Session(first.server, tell);
  say('client', `process ${process.pid}`);
  await session.client();
  tell({ type: 'connected' });
  for (;;) {
    const order = await next();
    if (order.type === 'fingerprint') await fingerprint(session, order.folder, order.atLeastMs);
    else if (order.type === 'publish') await publish(session, order.fingerprint);
    else if (order.type === 'bye') return session.close();
  }
}

async function fingerprint(session: Session, folder: string, atLeastMs: number): Promise<void> {
  let task = await call(session, 'fingerprint_folder', { folder, atLeastMs });
  const bar = new ProgressBar();
  let gaps = 0;
  while (task.status === 'working') {
    await setTimeout(task.pollIntervalMs);
    task = await session.get(task.taskId);
    const progress = session.progressOf(task);
    if (progress === undefined) continue;
    if (session.gaps > gaps) bar.forget();
    gaps = session.gaps;
    // The status message is for people: "45/100 name".
    bar.update(progress.progress, progress.total, task.statusMessage?.replace(/^\S+ /, '') ?? '');
    tell({ type: 'progress', done: progress.progress, total: progress.total });
  }
  bar.end(task.status === 'completed');
  await fetchTwice(session, task.taskId);
}

async function publish(session: Session, print: string): Promise<void> {
  const { taskId } = await call(session, 'publish_fingerprint', { fingerprint: print });
  await question(session, taskId);
  await next(); // The server has been killed: whatever answers from now on is another process.
  const key = await question(session, taskId);
  say('client', 'answers with tasks/update: name "demo", listed no');
  const content = { name: 'demo', listed: false };
  await (await session.client()).update(taskId, { [key]: { action: 'accept', content } });
  for (;;) {
    const { status } = await session.get(taskId);
    if (status !== 'working' && status !== 'input_required') break;
    await setTimeout(RETRY_MS);
  }
  await fetchTwice(session, taskId);
}

async function call(session: Session, tool: string, args: Record<string, unknown>): Promise<TaskView> {
  const client = await session.client();
  say('client', `calls ${tool}`);
  const since = performance.now();
  const answer = await client.call(tool, args); // Never sent twice: an answer that got lost may have made a task.
  if ('result' in answer) throw new Error(`${tool} was answered with a result where a task was due`);
  const { task } = answer;
  say('client', `has the handle ${task.taskId}`);
  const ms = performance.now() - since;
  say('', `${task.status}, ${ms.toFixed(0)} ms after the call`);
  tell({ type: 'handle', status: task.status, ms });
  return task;
}

/** Waits until the task asks, and shows what. */
async function question(session: Session, taskId: string): Promise<string> {
  for (;;) {
    const task = await session.get(taskId);
    const [asked] = Object.entries(task.inputRequests ?? {});
    if (task.status === 'input_required' && asked !== undefined) {
      const [key, { params }] = asked;
      say('client', `is asked: ${params.message}`);
      tell({ type: 'asked', key, message: params.message });
      return key;
    }
    if (task.status !== 'working') throw new Error(`the task was to ask and is ${task.status}`);
    await setTimeout(task.pollIntervalMs);
  }
}

async function fetchTwice(session: Session, taskId: string): Promise<void> {
  const first = JSON.stringify(await session.get(taskId));
  const second = JSON.stringify(await session.get(taskId));
  say('client', `fetched the result twice: ${first === second ? 'the same both times' : 'DIFFERENT'}`);
  tell({ type: 'result', first, second });
}

process.once('disconnect', () => process.exit()); // Not without the conductor.
main().then(
  () => process.disconnect(),
  (error) => {
    tell({ type: 'failed', message: error instanceof Error ? error.message : String(error) });
    process.exitCode = 1;
    process.disconnect();
  },
);
