// The runner of one job: `node main.js FOLDER`, with its order on stdin. Started detached, and told nothing more.
import { randomBytes } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { identify, machine } from '../../processes/process-table.ts';
import { JobFiles } from '../job-files.ts';
import type { RunnerOrder, RunnerWord } from './order.ts';
import { run } from './run.ts';

const TOKEN_BYTES = 24;

const [folder = ''] = process.argv.slice(2);
const files = new JobFiles(dirname(folder), basename(folder));
process.stdout.on('error', () => {}); // Whoever started it is gone, and it goes on.
const order = JSON.parse(await readAll()) as RunnerOrder;
const { pid } = process;
const { taskId } = order;
if (files.claim({ runner: identify(pid) ?? { pid }, taskId, ...machine(), startedAt: Date.now() })) {
  await run(files, order, randomBytes(TOKEN_BYTES).toString('base64url'), () => say('begun'));
} else say('taken');

async function readAll(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function say(word: RunnerWord): void {
  process.stdout.write(`${word}\n`);
}
