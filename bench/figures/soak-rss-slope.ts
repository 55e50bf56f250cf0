import type { Figure } from '../figure.ts';
import { callTool, HttpClient, modern } from '../support/http-client.ts';
import { machineTime, pause } from '../support/machine-time.ts';
import { Member } from '../support/member.ts';
import { slope } from '../support/statistics.ts';

const SEGMENTS = 5;
const MINUTE = 60_000;
const CALLERS = 8;
/** Of a caller beside what the server takes: at most a hundred tasks a second in all, well below what it could do. */
const PAUSE_MS = 80;
const SAMPLE_MS = 2_000;
/** Long enough for pollers, short enough that as many are forgotten as created. */
const LIFE_MS = 20_000;

/** Whether a server that is used steadily grows. */
export const soakRssSlope: Figure = {
  name: 'soak-rss-slope',
  unit: 'MB per min',
  aim: 0.5,
  better: 'lower',
  long: true,
  against:
    'nothing: least-squares slope of the RSS of a server that works on what it is called for, garbage collected before ' +
    'each look, in five segments that follow on each other, after a fifth of their time to warm up; called over HTTP, ' +
    'polled, and forgetting tasks after 20 s',
  async measure(bench) {
    const segmentMs = (bench.minutes * MINUTE) / SEGMENTS;
    const role = { serves: true, ttlMs: LIFE_MS, keepResultMs: LIFE_MS / 2 };
    const member = await Member.start(bench.folder(), role, ['--expose-gc']);
    const load = new Load(member.url);
    try {
      bench.progress(`warming up for ${seconds(segmentMs)}`);
      await sampled(member, load, segmentMs);
      const calls = load.calls;
      const startedAt = machineTime();
      const segments: Sample[][] = [];
      for (let segment = 1; segment <= SEGMENTS; segment += 1) {
        bench.progress(`segment ${segment} of ${SEGMENTS}, ${seconds(segmentMs)} each`);
        segments.push(await sampled(member, load, segmentMs));
      }
      const perSecond = (1_000 * (load.calls - calls)) / (machineTime() - startedAt);
      const all = segments.flat();
      const heap = slope(all.map(({ minute, heap }) => [minute, heap]));
      return {
        values: segments.map((samples) => slope(samples.map(({ minute, rss }) => [minute, rss]))),
        detail:
          `${slope(all.map(({ minute, rss }) => [minute, rss])).toFixed(2)} MB per min over all, JavaScript heap ` +
          `${heap.toFixed(3)} MB per min, RSS ${all[0]?.rss.toFixed(1)} to ${all.at(-1)?.rss.toFixed(1)} MB; ` +
          `${perSecond.toFixed(0)} tasks per s`,
      };
    } finally {
      await load.stop();
      await member.stop();
    }
  },
};

interface Sample {
  minute: number;
  rss: number;
  heap: number;
}

async function sampled(member: Member, load: Load, forMs: number): Promise<Sample[]> {
  const until = performance.now() + forMs;
  const samples: Sample[] = [];
  while (performance.now() < until) {
    await Promise.race([pause(SAMPLE_MS), load.failed]);
    const { rss, heap } = await member.order({ do: 'memory' });
    samples.push({ minute: machineTime() / MINUTE, rss, heap });
  }
  return samples;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(0)} s`;
}

/** Callers that each call, poll until they have the result, and call again after a pause. */
class Load {
  calls = 0;
  /** Rejects when a caller does not get what it should: a soak without load shows nothing. */
  readonly failed: Promise<never>;
  readonly #url: string;
  readonly #callers: Promise<void>[];
  #stopped = false;

  constructor(url: string) {
    this.#url = url;
    this.#callers = Array.from({ length: CALLERS }, () => this.#caller());
    this.failed = Promise.all(this.#callers).then(() => new Promise(() => {}));
    this.failed.catch(() => {}); // Told by whoever waits for it.
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.allSettled(this.#callers);
  }

  async #caller(): Promise<void> {
    const client = new HttpClient(this.#url);
    try {
      while (!this.#stopped) {
        const words = `To be ${Math.random()} or not to be`;
        const { text } = await client.send(callTool('work', { words }), '"resultType":"task"');
        const { taskId } = (JSON.parse(text) as { result: { taskId: string } }).result;
        const poll = modern('tasks/get', { taskId }, taskId);
        for (;;) {
          await pause(PAUSE_MS / 2);
          if ((await client.send(poll, taskId)).text.includes('"status":"completed"')) break;
        }
        this.calls += 1;
        await pause(PAUSE_MS / 2);
      }
    } finally {
      client.close();
    }
  }
}
