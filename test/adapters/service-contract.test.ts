import { describe, it } from 'vitest';
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
