import { redactor } from '../../../adapters/processes/redactor.ts';
import type { Remote } from '../../../client/index.ts';
import type { Link } from '../../../client/link.ts';
import { toolPages } from '../../../client/tool-list.ts';
import { type Clock, isJsonObject, type JsonObject, type RandomSource, type ToolHints } from '../../../core/index.ts';
import type { UpstreamConfig } from '../../../gateway/config/types.ts';
import { isAllowed, matchPolicy } from '../../../gateway/policy.ts';
import { withoutCompanions } from '../../../gateway/upstream.ts';
import { type SupervisedStdio, supervisedStdio } from '../../../gateway/upstreams/supervised-stdio.ts';
import { offersDraftTasks } from '../../../wire/rev-sep-1686/client.ts';
import { offersTasks, taskSupportOf } from '../../../wire/rev2025-11-25/client.ts';
import type { Generation, ReachedFacts, UpstreamFacts } from './facts.ts';
import type { Named } from './named.ts';

export interface LookOptions {
  /** How long all of it may take, in milliseconds. */
  timeoutMs: number;
  version: string;
  clock: Clock;
  random: RandomSource;
  /** Told how to end what was started, before its time. */
  onStarted?: (end: () => Promise<void>) => void;
}

const REQUESTS = 5;
const STDERR_LINES = 10;
/** Whoever does not answer is asked in the old way after this; the gateway waits for 15 s. */
const PROBE_SHARE = 1 / 3;
/** As long as the gateway would wait. */
const MAX_PROBE_MS = 15_000;

/** Connects to an upstream, looks at it, and ends all that was started for that. Never throws: what went wrong is a fact. */
export async function lookAtUpstream(named: Named, options: LookOptions): Promise<UpstreamFacts> {
  const { name, from, target, upstream, named: by, trouble } = named;
  const facts = { name, from, target, named: by, ...(named.longcall !== undefined && { longcall: named.longcall }) };
  if (upstream === undefined) return { ...facts, trouble: trouble ?? 'it makes no sense', stderr: [] };
  const redact = redactor(named.secrets);
  const probeTimeoutMs = Math.min(MAX_PROBE_MS, Math.round(options.timeoutMs * PROBE_SHARE));
  const stdio = 'command' in upstream.target ? processOf(upstream.target, named, probeTimeoutMs, options) : undefined;
  const reaching = new Reaching(upstream, stdio, probeTimeoutMs, options);
  options.onStarted?.(() => reaching.end());
  let reached: Omit<ReachedFacts, 'noise' | 'escaped' | 'endsOnProbe'> | undefined;
  let failed: string | undefined;
  try {
    reached = await inTime(reaching.look(), options);
  } catch (error) {
    failed = redact(wordsOf(error));
  }
  const startedTwice = (stdio?.status().starts ?? 0) > 1;
  await reaching.end();
  const status = stdio?.status();
  const stderr = (stdio?.lines(STDERR_LINES) ?? []).map((line) => redact(line));
  if (reached === undefined) return { ...facts, trouble: failed ?? 'it did not answer', stderr };
  const { noise, escaped } = { noise: status?.noise.lines ?? 0, escaped: status?.escaped.length ?? 0 };
  return { ...facts, reached: { ...reached, endsOnProbe: startedTwice, noise, escaped }, stderr };
}

function processOf(
  { command, args, cwd, env }: Extract<UpstreamConfig['target'], { command: string }>,
  { secrets }: Named,
  probeTimeoutMs: number,
  { clock, random }: LookOptions,
): SupervisedStdio {
  return supervisedStdio({
    command,
    args,
    env,
    ...(cwd !== undefined && { cwd }),
    secrets,
    backoff: { backoffMs: 0, maxBackoffMs: 0 }, // It is started for this once, and not kept running.
    probeTimeoutMs,
    clock,
    random,
  });
}

/** One upstream while it is looked at. */
class Reaching {
  readonly #upstream: UpstreamConfig;
  readonly #stdio: SupervisedStdio | undefined;
  readonly #probeTimeoutMs: number;
  readonly #options: LookOptions;
  #remote: Promise<Remote> | undefined;
  #ended: Promise<void> | undefined;

  constructor(upstream: UpstreamConfig, stdio: SupervisedStdio | undefined, probeMs: number, options: LookOptions) {
    this.#upstream = upstream;
    this.#stdio = stdio;
    this.#probeTimeoutMs = probeMs;
    this.#options = options;
  }

  async look() {
    const { clock } = this.#options;
    const began = clock.monotonic();
    this.#remote = this.#connect();
    const remote = await this.#remote;
    const connectMs = clock.monotonic() - began;
    const { link } = remote;
    if (link === undefined) throw new TypeError('a connection of our own has a link');
    const { name, version } = link.serverInfo ?? {};
    const tools = await listed(link);
    return {
      protocol: link.version,
      server: { name: String(name ?? '(unnamed)'), version: String(version ?? '') },
      generation: generationOf(remote, link),
      tools: tools.length,
      firstDraft: this.#upstream.firstDraft === true,
      ...served(this.#upstream, tools, remote),
      connectMs,
      ...(await requestTime(link, clock)),
      silentOnProbe: this.#stdio !== undefined && link.era === 'legacy' && connectMs >= this.#probeTimeoutMs,
    };
  }

  /** Ends what was started, whatever it is doing. */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    // First the process: a connection that is still being made fails by that.
    const over = this.#stdio?.close();
    const remote = 'command' in this.#upstream.target ? undefined : this.#remote;
    await Promise.race([
      remote?.then(
        (one) => one[Symbol.asyncDispose](),
        () => undefined, // It was told to whoever waited for it.
      ),
      new Promise<void>((resolve) => this.#options.clock.setTimer(GOODBYE_MS, resolve)),
    ]);
    await over;
  }

  async #connect(): Promise<Remote> {
    const { timeoutMs, clock, random, version } = this.#options;
    const { connectRemote } = await import('../../../client/index.ts');
    const { target } = this.#upstream;
    const where = this.#stdio ?? addressOf(target as Extract<UpstreamConfig['target'], { url: string }>);
    return connectRemote({
      ...where,
      info: { name: 'longcall-doctor', version },
      requestTimeoutMs: timeoutMs,
      clock,
      random,
    });
  }
}

/** How long a server over HTTP may take to be taken leave of. */
const GOODBYE_MS = 1_000;

function addressOf({ url, headers }: Extract<UpstreamConfig['target'], { url: string }>) {
  return { url, http: { requestInit: { headers: { ...headers } } } };
}

/** What Node says of a connection is in the cause of what `fetch` says, which is nothing. */
function wordsOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const { code } = at as NodeJS.ErrnoException;
    if (typeof code === 'string' && /^(E[A-Z]+|UND_[A-Z_]+|[A-Z_]*CERT[A-Z_]*)$/.test(code))
      return `${message} (${code})`;
  }
  return message;
}

async function listed(link: Link): Promise<JsonObject[]> {
  if (!isJsonObject(link.capabilities.tools)) return [];
  const found = new Map<string, JsonObject>();
  try {
    for await (const one of toolPages((params) => link.request('tools/list', params, { tasks: true }))) {
      if (isJsonObject(one) && typeof one.name === 'string' && !found.has(one.name)) found.set(one.name, one);
    }
  } catch (error) {
    throw new Error(`it is there, but does not list its tools: ${(error as Error).message}`, { cause: error });
  }
  return [...found.values()];
}

function generationOf({ revision }: Remote, { version, capabilities }: Link): Generation {
  if (revision !== 'none') return revision;
  if (version === '2025-11-25' && offersTasks(capabilities) === 'misdeclared') return 'misdeclared';
  return offersDraftTasks(capabilities) ? 'SEP-1686' : 'none';
}

function served(
  upstream: UpstreamConfig,
  tools: readonly JsonObject[],
  { repeatable, revision }: Remote,
): Pick<ReachedFacts, 'served' | 'failWhenLost'> {
  const counts = { task: 0, direct: 0, auto: 0, hidden: 0 };
  let failWhenLost = 0;
  const shown = new Set(withoutCompanions(tools, { repeatable }));
  for (const tool of tools) {
    const name = String(tool.name);
    const hints: ToolHints = isJsonObject(tool.annotations) ? tool.annotations : {};
    const { mode, onLost } = matchPolicy(upstream, name, hints);
    // What cannot run otherwise there is a task here too.
    const onlyTask = revision === '2025-11-25' && taskSupportOf(tool) === 'required';
    const how = !shown.has(tool) || !isAllowed(upstream, name) ? 'hidden' : onlyTask ? 'task' : mode;
    counts[how] += 1;
    if (how === 'task' && onLost === 'fail') failWhenLost += 1;
  }
  return { served: counts, failWhenLost };
}

/** The median of a few: the first of them may find a cold server. */
async function requestTime(link: Link, clock: Clock): Promise<{ requestMs?: number }> {
  const times: number[] = [];
  const method = link.era === 'modern' ? 'server/discover' : 'ping';
  for (let n = 0; n < REQUESTS; n += 1) {
    const began = clock.monotonic();
    const answered = await link.request(method, {}).then(
      () => true,
      (error: unknown) => isRefusal(error), // An answer as well.
    );
    if (!answered) break;
    times.push(clock.monotonic() - began);
  }
  const median = times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
  return median === undefined ? {} : { requestMs: median };
}

function isRefusal(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'REMOTE_REFUSED';
}

async function inTime<Value>(work: Promise<Value>, { clock, timeoutMs }: LookOptions): Promise<Value> {
  const awake = setInterval(() => {}, 60_000); // Timers of the clock do not keep this process here.
  let cancel = (): void => {};
  const late = new Promise<never>((_, reject) => {
    const timer = clock.setTimer(timeoutMs, () => reject(new Error(`no answer within ${timeoutMs} ms`)));
    cancel = () => timer.cancel();
  });
  work.catch(() => {}); // Of what comes too late nobody hears.
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
    clearInterval(awake);
  }
}
