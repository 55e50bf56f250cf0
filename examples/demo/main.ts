// `npm run demo`: a tool call that outlives kill -9 of its server, on real files, with real processes.
// This is the conductor: it starts a server process and a client process, kills the server twice, and checks everything
// against what it has worked out or seen for itself. See server.ts for the tools and client.ts for the calls.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Cast, outliveAKill, outliveAKillWhileAsking } from './acts.ts';
import { ClientProcess } from './client-process.ts';
import { Checks } from './evidence.ts';
import { fingerprintIndependently } from './independent.ts';
import { heading, megabytes, say, seconds } from './screen.ts';
import { HttpServerProcess, StdioServerProcess } from './server-process.ts';

/** A step holds one file at least, and there has to be a step after the one that is cut. */
const MIN_FILES = 4;

async function main(): Promise<string> {
  const began = performance.now();
  const { folder, shown, transport } = options();

  heading(`longcall: a tool call that outlives kill -9   (folder ${shown}, over ${transport})`);
  say('conductor', 'works out the answer beforehand, without tasks');
  const truth = await fingerprintIndependently(folder);
  if (truth.files < MIN_FILES) {
    throw new Error(`--folder ${shown} holds ${truth.files} files, expected ${MIN_FILES} at least`);
  }
  say('', `${truth.files} files, ${megabytes(truth.bytes)}, in ${seconds(performance.now() - began)}`);

  const scratch = mkdtempSync(join(tmpdir(), 'longcall-demo-'));
  cleanUps.push(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }));
  const stepLog = join(scratch, 'steps.log');
  const env = {
    DEMO_DB: join(scratch, 'tasks.db'),
    DEMO_STEP_LOG: stepLog,
    DEMO_PID_FILE: join(scratch, 'server.pid'),
  };
  const server = transport === 'http' ? new HttpServerProcess(env) : new StdioServerProcess(env);
  cleanUps.push(() => server.end());
  if (transport === 'http') await server.started();
  const client = new ClientProcess();
  cleanUps.push(() => client.kill()); // Before the server: it would start another one.
  await client.until('ready');
  client.send({ type: 'connect', server: server.address });
  await client.until('connected');

  const cast: Cast = { server, client, stepLog, checks: new Checks() };
  const figures = await outliveAKill(cast, folder, truth);
  await outliveAKillWhileAsking(cast, truth);
  await client.end();
  if (server instanceof StdioServerProcess) server.endedByClient();

  const { passed, failed } = cast.checks;
  heading(`${passed} checks held, ${failed} did not`);
  if (failed > 0) throw new Error(`${failed} of ${passed + failed} checks failed, see above`);
  return `${figures}, ${passed} checks, ${seconds(performance.now() - began)} in all, over ${transport}`;
}

function options(): { folder: string; shown: string; transport: 'http' | 'stdio' } {
  const { values } = parseArgs({
    options: {
      folder: { type: 'string', default: 'node_modules' },
      transport: { type: 'string', default: 'http' },
    },
  });
  const { folder: shown, transport } = values;
  if (transport !== 'http' && transport !== 'stdio') {
    throw new Error(`--transport must be http or stdio, got ${transport}`);
  }
  const folder = resolve(shown);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`--folder ${shown} is not a folder`);
  return { folder, shown, transport };
}

/** Undone in the opposite order, whatever happens. */
const cleanUps: (() => void | Promise<void>)[] = [];
let ending: Promise<void> | undefined;

/** Leaves nothing behind and says the last word; the first to call this has it. */
function end(lastLine: string, exitCode: number): Promise<void> {
  ending ??= (async () => {
    for (let next = cleanUps.pop(); next !== undefined; next = cleanUps.pop()) await next();
    console.log(lastLine);
  })()
    .catch((error) => {
      console.log(`demo: FAILED — could not tidy up: ${error}`);
      process.exit(1);
    })
    .then(() => process.exit(exitCode));
  return ending;
}

process.once('SIGINT', () => void end('\ndemo: FAILED — interrupted', 130));
process.once('SIGTERM', () => void end('\ndemo: FAILED — terminated', 143));
await main().then(
  (figures) => end(`demo: ok — ${figures}`, 0),
  (error) => end(`\ndemo: FAILED — ${error instanceof Error ? error.message : error}`, 1),
);
