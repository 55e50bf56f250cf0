// What every client is asked to do with a server of ours.
import assert from 'node:assert/strict';
import { type Followed, type Outcome, type Peer, type PeerKind, refused } from './peer.ts';
import { type Site, until } from './site.ts';

export const SCENARIOS = [
  'sync',
  'task',
  'progress',
  'question',
  'tool-error',
  'odd-error',
  'protocol-error',
  'unknown',
  'cancel',
  'result-twice',
  'list',
  'restart', // Last: connections over stdio do not outlive it.
] as const;

export type ScenarioName = (typeof SCENARIOS)[number];

export interface Stage {
  kind: PeerKind;
  site: Site;
  peer: Peer;
  /** A name nobody else uses. */
  gate: string;
  /** Gives a peer whose server has died a new one. */
  reconnect(): Promise<Peer>;
}

export const play: Readonly<Record<ScenarioName, (stage: Stage) => Promise<void>>> = {
  async sync({ peer }) {
    assert.equal(textOf(await peer.call('greet', { name: 'Ada' })), 'hello Ada');
  },

  async task({ kind, site, peer, gate }) {
    const followed = await peer.start(kind.native ? 'must_walk' : 'walk', { gate, steps: 3, at: 2 });
    await during(followed, site.saw(`${gate} step 2`));
    site.open(gate);
    const outcome = await followed.outcome;
    assert.equal(textOf(outcome), 'walked 3');
    if (kind.tellsOnlyText !== 'of all') assert.deepEqual(structured(outcome), { walked: 3 });
  },

  async progress({ site, peer, gate }) {
    const told: string[] = [];
    const onProgress = (text: string): void => void told.push(text);
    const followed = await peer.start('walk', { gate, steps: 3, at: 2 }, { onProgress });
    await during(
      followed,
      until('progress', () => told.some((text) => text.startsWith('1/3'))),
    );
    site.open(gate);
    assert.equal(textOf(await followed.outcome), 'walked 3');
  },

  async question({ peer, site }) {
    const asked: string[] = [];
    const onQuestion = (message: string) => {
      asked.push(message);
      return { colour: 'green' };
    };
    const { outcome } = await peer.start('ask', {}, { onQuestion });
    assert.equal(textOf(await outcome), 'painted green');
    assert.deepEqual(asked, [`${site.asker}Which colour?`]);
  },

  'tool-error': (stage) => failing(stage, 'report'), // C-001
  'odd-error': (stage) => failing(stage, 'misreport'), // C-005

  async 'protocol-error'({ peer }) {
    const { outcome } = await peer.start('broken', {});
    const ended = await outcome;
    assert.ok(ended.status === 'error', JSON.stringify(ended));
    assert.match(ended.message, /the projector broke/);
    assert.equal(ended.code, -32050);
  },

  // C-010: for each id that is none an error, so that nobody waits for it.
  async unknown({ kind, peer }) {
    const outcome = await peer.outcome('tsk_AAAAAAAAAAAAAAAAAAAAAAAA').catch(refused);
    if (kind.native) {
      assert.ok(outcome.status === 'error', JSON.stringify(outcome));
      assert.equal(outcome.code, -32602);
    } else {
      assert.match(textOf(outcome), /^No task of yours has the id "tsk_A{24}"/);
    }
  },

  async cancel({ site, peer, gate }) {
    const followed = await peer.start('wait', { gate });
    await during(followed, site.saw(`${gate} waits`));
    await followed.cancel();
    await site.saw(`${gate} stopped`);
    assert.deepEqual(await followed.outcome, { status: 'cancelled' });
  },

  async 'result-twice'({ site, peer, gate }) {
    const { taskId, first } = await walked(peer, site, gate);
    assert.deepEqual(withoutMeta(await peer.outcome(taskId)), withoutMeta(first));
    assert.deepEqual(withoutMeta(await peer.outcome(taskId)), withoutMeta(first));
  },

  async list({ site, peer, gate }) {
    const { taskId } = await walked(peer, site, gate);
    const found = (await peer.list()).find((task) => task.taskId === taskId);
    assert.deepEqual(found, { taskId, status: 'completed' });
  },

  async restart({ site, peer, gate, reconnect }) {
    const followed = await peer.start('walk', { gate, steps: 3, at: 2 });
    followed.outcome.catch(() => {}); // Whoever follows it now may lose it.
    await during(followed, site.saw(`${gate} step 2`));
    await site.kill();
    await site.start();
    site.open(gate);
    const again = await reconnect();
    // A client of a gateway that stays does not notice, and goes on with what it follows.
    const outcome = await (site.hasGateway ? followed.outcome : again.outcome(known(followed)));
    assert.equal(textOf(outcome), 'walked 3');
    const steps = site.ran().filter((line) => line.startsWith(gate));
    assert.deepEqual(
      steps,
      ['step 1', 'step 2', 'step 2', 'step 3'].map((step) => `${gate} ${step}`),
    );
  },
};

/** A tool that reports a failure has done what it was asked to: whoever asked gets that report, and all of it. */
async function failing({ kind, peer }: Stage, tool: string): Promise<void> {
  const { outcome } = await peer.start(tool, {});
  const ended = await outcome;
  assert.equal(textOf(ended), 'no such film');
  assert.equal(ended.status === 'result' && ended.result.isError, true);
  if (kind.tellsOnlyText === undefined) assert.deepEqual(structured(ended), { missing: 7 });
}

async function walked(peer: Peer, site: Site, gate: string): Promise<{ taskId: string; first: Outcome }> {
  const followed = await peer.start('walk', { gate, steps: 2, at: 1 });
  site.open(gate);
  const first = await followed.outcome;
  assert.equal(textOf(first), 'walked 2');
  return { taskId: known(followed), first };
}

/** Waits for something while a task runs; a client that gives up meanwhile is told at once. */
async function during(followed: Followed, event: Promise<void>): Promise<void> {
  const over = followed.outcome.then((outcome) => {
    throw new Error(`ended too soon with ${JSON.stringify(outcome)}`);
  });
  await Promise.race([event, over]);
}

function known({ taskId }: Followed): string {
  assert.ok(taskId !== undefined, 'the client does not tell the id of the task');
  return taskId;
}

function textOf(outcome: Outcome): string {
  assert.ok(outcome.status === 'result', JSON.stringify(outcome));
  const content = outcome.result.content as { text?: string }[] | undefined;
  return String(content?.[0]?.text ?? JSON.stringify(outcome));
}

function structured(outcome: Outcome): unknown {
  return outcome.status === 'result' ? outcome.result.structuredContent : undefined;
}

/** Some answers name the task they belong to, others do not. */
function withoutMeta(outcome: Outcome): unknown {
  if (outcome.status !== 'result') return outcome;
  const { _meta, ...rest } = outcome.result;
  return rest;
}
