// One process of a deployment on the store in the folder it is given: server, worker or both, as its role says. It is told
// over IPC what to do and asked how it is doing.
import { join } from 'node:path';
import { createTasks, sqliteStore, type TaskContext, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';
import { machineTime, pause } from '../support/machine-time.ts';
import type { Message, Order, Replies, Role } from '../support/member.ts';

const [folder = '', role = '{}'] = process.argv.slice(2);
const { serves = false, keepResultMs, ...options } = JSON.parse(role) as Role;
const tasks = createTasks({ store: sqliteStore(join(folder, 'tasks.db')), ...options });
const task = keepResultMs === undefined ? {} : { keepResultMs };
const MB = 1024 * 1024;
/** So many that none of them has more open tasks than it may. */
const PRINCIPALS = 50;
const DAY = 24 * 3_600_000;

const tell = (message: Message): void => void process.send?.(message);
const started = (context: TaskContext): void => {
  const at = machineTime();
  tell({ started: context.id, attempt: context.attempt, at });
};

tasks.registerTool('mark', { task }, (_args, context) => {
  started(context);
  return text('here');
});
tasks.registerTool('hang', { task: { ...task, onWorkerLost: 'rerun' } }, async (_args, context) => {
  started(context);
  if (context.attempt > 1) return text('over');
  await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
  tell({ stopped: context.id, at: machineTime() });
  return text('over');
});
const schema = z.object({ word: z.string() });
tasks.registerTool('ask', { task }, async (_args, context) => {
  const answer = await context.ask('word', { message: 'Which word?', schema });
  return text(answer.action === 'accept' ? answer.content.word : answer.action);
});
tasks.registerTool('nap', { task }, async (_args, context) => {
  await context.sleep(DAY);
  return text('awake');
});
const inputSchema = z.object({ words: z.string() });
tasks.registerTool('work', { inputSchema, task }, async ({ words }, context) => {
  const shouted = await context.step('shout', () => words.toUpperCase());
  context.progress(1, 2, 'half-way');
  context.log('shouted');
  return text(await context.step('whisper', () => shouted.toLowerCase()));
});

process.on('message', (order: Order & { id: number }) => {
  obey(order).then(
    (value) => tell({ reply: order.id, value }),
    (error: Error) => tell({ reply: order.id, error: error.message }),
  );
});

async function obey(order: Order): Promise<Replies[Order['do']]> {
  switch (order.do) {
    case 'create': {
      const at = await create(order.tool, order.count, order.inFlight);
      await pause(5); // Telling comes after what the store has to do now, such as waking others.
      return { at };
    }
    case 'cpu': {
      const { user, system } = process.cpuUsage();
      return { ms: (user + system) / 1_000 };
    }
    case 'memory':
      return memory();
    case 'cancel': {
      const at = machineTime();
      return { cancelled: (await tasks.inspect.cancelMany({})).length, at };
    }
    case 'runs': {
      const { byRunState } = await tasks.inspect.counts();
      return { started: tasks.engine.runs, going: byRunState.leased };
    }
  }
}

/** Resolves with the moment at which the last of them was durable. */
async function create(tool: string, count: number, inFlight: number): Promise<number> {
  const definition = tasks.tools.find(({ name }) => name === tool)?.definition;
  if (definition === undefined) throw new Error(`no tool ${tool}`);
  let at = 0;
  let left = count;
  const oneByOne = async () => {
    for (; left > 0; ) {
      left -= 1;
      const principal = { subject: `bench-${left % PRINCIPALS}` };
      await tasks.engine.create({
        definition,
        principal,
        input: {},
        revision: '2026-07-28',
        abilities: { form: true },
      });
      at = machineTime();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, oneByOne));
  return at;
}

async function memory(): Promise<Replies['memory']> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('memory: needs --expose-gc');
  for (let round = 0; round < 3; round += 1) {
    gc();
    await pause(20); // What finalizers free.
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { rss: rss / MB, heap: heapUsed / MB };
}

if (serves) {
  const server = createTaskServer(tasks, { name: 'member', version: '1.0.0' });
  const { url } = await server.listen({ port: 0 });
  process.once('disconnect', () => void server.close());
  tell({ serving: url });
} else {
  await tasks.start();
  process.once('disconnect', () => void tasks.close({ drainMs: 0 }));
  tell({ serving: '' });
}
