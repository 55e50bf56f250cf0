import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../../src/core/index.ts';
import { admit, introduce, type Party, say } from '../../../src/gateway/daemon/handshake.ts';
import { readLine } from '../../../src/gateway/daemon/read-line.ts';
import { ManualClock } from '../../../src/testing/index.ts';
import { socketPair } from '../../support/socket-pair.ts';
import { aHello } from './support.ts';

const secret = randomBytes(32);
const party = (more: Partial<Party> = {}): Party => ({
  version: '1.0.0',
  secret,
  clock: systemClock,
  random: systemRandom,
  ...more,
});
const request = { want: 'serve' as const, hello: aHello('one', { TOKEN: 'hunter2' }) };

/** All that is said on a socket from now on. */
function tapped(socket: Socket): () => string {
  const said: string[] = [];
  const write = socket.write.bind(socket) as (text: string) => boolean;
  socket.write = ((text: string) => {
    said.push(text);
    return write(text);
  }) as Socket['write'];
  return () => said.join('');
}

describe('a front and its daemon', () => {
  it('know each other by the secret, and what follows is theirs', async () => {
    const [near, far] = await socketPair();
    const admitted = admit(far, party({ version: '2.0.0' }));
    const { version, ask } = await introduce(near, party());
    expect(version).toBe('2.0.0');
    const answer = ask(request);
    near.write('the first line\nthe second');
    expect(await admitted).toEqual({ version: '1.0.0', request });
    say(far, { ok: true });
    expect(await answer).toEqual({ ok: true });
    expect(await readLine(far, 100)).toBe('the first line');
    near.end();
    await expect(readLine(far, 100)).rejects.toThrow('hung up');
  });

  it('are told why it was refused', async () => {
    const [near, far] = await socketPair();
    const admitted = admit(far, party());
    const { ask } = await introduce(near, party());
    const answer = ask(request);
    await admitted;
    say(far, { error: 'not today' });
    await expect(answer).rejects.toMatchObject({ code: 'DAEMON_REFUSED', message: 'not today' });
  });
});

describe('a front', () => {
  const foreign = [
    ['knows another secret', (far: Socket) => void admit(far, party({ secret: randomBytes(32) })).catch(() => {})],
    ['repeats what it heard', (far: Socket) => void far.pipe(far)],
    ['pretends without a proof', (far: Socket) => say(far, { longcall: 'daemon', version: '1.0.0', nonce: 'n' })],
    [
      'pretends with a proof made up',
      (far: Socket) => say(far, { longcall: 'daemon', version: '1.0.0', nonce: 'n', proof: 'A'.repeat(43) }),
    ],
  ] as const;

  it.each(foreign)('hands nothing to who %s', async (_what, pretend) => {
    const [near, far] = await socketPair();
    pretend(far);
    const said = tapped(near);
    await expect(introduce(near, party())).rejects.toMatchObject({ code: 'DAEMON_UNTRUSTED' });
    expect(
      said()
        .trimEnd()
        .split('\n')
        .map((line) => Object.keys(JSON.parse(line))),
    ).toEqual([['longcall', 'protocol', 'version', 'nonce']]);
  });

  it('does not take the proof of a front for one of a daemon', async () => {
    // Somebody between a front and a daemon, who lets a second front prove what the first one wants to see.
    const [near, far] = await socketPair();
    const [other, daemon] = await socketPair();
    const admitted = admit(daemon, party()).catch(() => 'turned away');
    const introduced = introduce(near, party());
    const { nonce } = JSON.parse(await readLine(far, 4_096));
    say(other, { longcall: 'front', protocol: 1, version: '1.0.0', nonce });
    const theirs = JSON.parse(await readLine(other, 4_096));
    say(other, { proof: theirs.proof, request: { want: 'stop' } });
    expect(await admitted).toBe('turned away');
    say(far, { longcall: 'daemon', version: '1.0.0', nonce: theirs.nonce, proof: 'A' });
    await expect(introduced).rejects.toMatchObject({ code: 'DAEMON_UNTRUSTED' });
  });
});

describe('a daemon', () => {
  const strangers = [
    ['says nothing of itself', '{}'],
    ['speaks another protocol', '{"longcall":"front","protocol":9,"version":"1","nonce":"n"}'],
    ['says no JSON', 'GET / HTTP/1.1'],
    ['says too much', 'x'.repeat(5_000)],
  ] as const;

  it.each(strangers)('turns away who %s', async (_what, line) => {
    const [near, far] = await socketPair();
    near.write(`${line}\n`);
    await expect(admit(far, party())).rejects.toThrow();
  });

  it('turns away who does not know the secret', async () => {
    const [near, far] = await socketPair();
    const admitted = admit(far, party());
    admitted.catch(() => {});
    say(near, { longcall: 'front', protocol: 1, version: '1.0.0', nonce: 'n' });
    say(near, { proof: 'A'.repeat(43), request: { want: 'stop' } });
    await expect(admitted).rejects.toThrow('does not know the secret');
  });

  it('does not wait for ever, and neither does a front', async () => {
    const clock = new ManualClock();
    const [near, far] = await socketPair();
    far.on('error', () => {});
    near.on('error', () => {});
    const admitted = admit(far, party({ clock }));
    const introduced = introduce(near, party({ clock }));
    // Both have said their first line by now; the daemon waits for the front's second.
    const { ask } = await introduced;
    clock.advance(10_001);
    await expect(admitted).rejects.toThrow('says nothing for 10000 ms');
    await expect(ask(request)).rejects.toThrow();
  });
});
