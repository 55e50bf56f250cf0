import { setTimeout } from 'node:timers/promises';
import type { Chance } from '../sim/chance.ts';
import type { Member } from './fleet.ts';
import { machineTime } from './ledger.ts';
import { LONG_STOP_MS } from './settings.ts';

type Deed = 'kill' | 'drain' | 'drain twice' | 'stop';

const weights: readonly (readonly [Deed, number])[] = [
  ['kill', 5],
  ['drain', 3],
  ['drain twice', 1],
  ['stop', 2],
];

/** Does one thing after the other to a process until the time is over, and leaves it alive. */
export async function torment(member: Member, chance: Chance, forMs: number, longStop: boolean): Promise<void> {
  const until = machineTime() + forMs;
  if (longStop) {
    await setTimeout(chance.int(100, 1_000));
    member.stop();
    await setTimeout(LONG_STOP_MS);
    member.wake();
    return;
  }
  for (;;) {
    await setTimeout(chance.int(150, 1_300));
    if (machineTime() >= until) return;
    await strike(member, chance.weighted(weights) ?? 'kill', chance);
    if (member.life?.endedAt === undefined) continue;
    await setTimeout(chance.int(0, 400));
    // Sometimes it does not even get as far as serving.
    if (chance.odds(0.2)) await member.start(() => nip(member, chance));
    if (member.life?.endedAt !== undefined) await member.start();
  }
}

async function nip(member: Member, chance: Chance): Promise<void> {
  await setTimeout(chance.int(0, 100));
  await (chance.odds(0.5) ? member.kill() : member.drain());
}

async function strike(member: Member, deed: Deed, chance: Chance): Promise<void> {
  switch (deed) {
    case 'kill':
      return member.kill();
    case 'drain':
      return member.drain();
    case 'drain twice':
      return member.drain(chance.int(0, 250));
    case 'stop':
      member.stop();
      await setTimeout(chance.int(20, 1_200));
      if (chance.odds(0.3)) return member.kill(); // Never to wake.
      return member.wake();
  }
}
