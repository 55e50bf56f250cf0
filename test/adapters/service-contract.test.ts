import { describe, expect, it } from 'vitest';
import { adapterSuite } from '../../src/testing/index.ts';
import { type ServiceCaps, scriptedHarness } from './scripted-harness.ts';

const LOGS = { logs: 'live' } as const;

const SERVICES: [string, ServiceCaps][] = [
  ['can be found by its key', { ...LOGS, find: true }],
  ['starts once for a key, and tells of news', { ...LOGS, push: true, idempotentStart: true }],
  ['is known by its key, and starts once for it', { ...LOGS, derived: true, idempotentStart: true }],
  ['is known by its key, and can be found', { logs: 'final', derived: true, find: true }],
  ['can be started and looked at, and nothing else', { cancel: 'none', logs: 'none', input: false }],
];

for (const [what, caps] of SERVICES) {
  const harness = scriptedHarness(caps);
  const { cases, notApplicable } = await adapterSuite(harness);
  describe(`a job that ${what}`, () => {
    it.each(cases)('$name', ({ run }) => run(harness));
    it.skip.each(notApplicable)('$name (not applicable: $why)', () => {});
  });
}

describe('the contract on the clock of the machine', () => {
  it('is the same', async () => {
    const harness = { ...scriptedHarness({ find: true, logs: 'live' }), time: 'real' as const };
    const { cases } = await adapterSuite(harness);
    const names = [
      'tells how a job ended well, and never otherwise afterwards',
      'does a job once, whose process dies when it has started it',
      'ends its job when it is out of time',
    ];
    for (const { run } of cases.filter(({ name }) => names.includes(name))) await run(harness);
    expect(cases.filter(({ name }) => names.includes(name))).toHaveLength(names.length);
  });
});
