import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ANONYMOUS_PRINCIPAL, LOCAL_PRINCIPAL, type Principal } from '../../src/core/index.ts';
import { type Tasks, type ToolTaskOptions, text } from '../../src/engine/index.ts';
import { said } from '../hosts/fixture.ts';
import { answered } from '../hosts/waiting.ts';
import { pass, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { serve } from './peer.ts';

const plain = { capabilities: {} };

describe('9. a call may be replayed', () => {
  function counting(task: ToolTaskOptions<Json> = {}, principal: () => Principal = () => LOCAL_PRINCIPAL) {
    let runs = 0;
    const register = (tasks: Tasks): void => {
      for (const name of ['tool', 'other']) {
        const config = { inputSchema: z.object({ a: z.number(), b: z.number() }), task: task as never };
        tasks.registerTool(name, config, async (_args, context) => {
          runs += 1;
          await context.sleep(10_000);
          return text(`run ${runs}`);
        });
      }
    };
    return { ...serve(register, { server: { principal } }), runs: () => runs };
  }

  it('and then joins the first one, under whatever request id and session it comes', async () => {
    const { peer, clock, runs } = counting();
    const [one, two] = [await LegacyPeer.connect({ peer }), await LegacyPeer.connect({ peer })];
    const first = one.call('tool', { a: 1, b: 2 });
    await settle();
    await pass(clock, 3_000);
    const again = [
      two.call('tool', { b: 2, a: 1 }),
      one.call('tool', { a: 1, b: 2 }),
      peer.call('tool', { a: 1, b: 2 }, plain),
    ];
    const { tookMs } = await answered(clock, Promise.all([first, ...again]));
    expect(tookMs).toBeLessThan(9_000);
    for (const { result } of await Promise.all([first, ...again])) expect(said(result)).toBe('run 1');
    expect(runs()).toBe(1);
    await answered(clock, peer.call('tool', { a: 1, b: 2 }, plain)); // The first one is over by now.
    expect(runs()).toBe(2);
  });

  it.each<[string, ToolTaskOptions<Json>, string, Json, Principal, Principal]>([
    ['of other arguments', {}, 'tool', { a: 1, b: 3 }, LOCAL_PRINCIPAL, LOCAL_PRINCIPAL],
    ['of another tool', {}, 'other', { a: 1, b: 2 }, LOCAL_PRINCIPAL, LOCAL_PRINCIPAL],
    ['of another caller', {}, 'tool', { a: 1, b: 2 }, { subject: 'ada' }, { subject: 'eve' }],
    ['of another tenant', {}, 'tool', { a: 1, b: 2 }, { tenant: 'a', subject: 'ada' }, { tenant: 'b', subject: 'ada' }],
    ['of somebody unknown', {}, 'tool', { a: 1, b: 2 }, ANONYMOUS_PRINCIPAL, ANONYMOUS_PRINCIPAL],
    [
      'of a tool that does not want it',
      { joinRunning: false },
      'tool',
      { a: 1, b: 2 },
      LOCAL_PRINCIPAL,
      LOCAL_PRINCIPAL,
    ],
  ])('but a call %s is one of its own', async (_, task, tool, args, first, second) => {
    let principal = first;
    const { peer, clock, runs } = counting(task, () => principal);
    const one = peer.call('tool', { a: 1, b: 2 }, plain);
    await settle();
    principal = second;
    const two = peer.call(tool, args, plain);
    await answered(clock, Promise.all([one, two]));
    expect(runs()).toBe(2);
  });

  it('and when all of them have gone, so has the work', async () => {
    const { peer, tasks } = counting();
    await peer.send('tools/list', {});
    const requests = [new AbortController(), new AbortController(), new AbortController()];
    const states = async () => {
      const { tasks: all } = await tasks.engine.list(LOCAL_PRINCIPAL, { limit: 2 });
      return all.map(({ state }) => state.status);
    };
    for (const { signal } of requests) {
      void peer.call('tool', { a: 1, b: 2 }, { ...plain, signal });
      await settle();
    }
    for (const [n, request] of requests.entries()) {
      request.abort();
      await settle(40);
      expect(await states()).toEqual([n < 2 ? 'working' : 'cancelled']);
    }
  });

  it.each([0, 1])('and who leaves of the two that wait takes nothing from the other: %d', async (leaving) => {
    const { peer, clock, runs } = counting();
    const requests = [new AbortController(), new AbortController()];
    const calls = [];
    for (const { signal } of requests) {
      calls.push(peer.call('tool', { a: 1, b: 2 }, { ...plain, signal }));
      await settle();
    }
    requests[leaving]!.abort();
    const { answer } = await answered(clock, calls[1 - leaving]!);
    expect({ said: said(answer.result), runs: runs() }).toEqual({ said: 'run 1', runs: 1 });
  });
});
