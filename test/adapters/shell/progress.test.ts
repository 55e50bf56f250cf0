import { describe, expect, it } from 'vitest';
import { adapterIn, begin, contextOf, endOfJob, jobsFolder, run, textOf } from './support.ts';

describe('the progress of a command', () => {
  it('is what it says by markers, while it runs, and is nothing where that is not wanted', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const work = { node: `console.log('::progress 3/10 half of a file'); setInterval(() => {}, 1000)` };
    const { ref, context } = await begin(adapter, folder, work);
    for (;;) {
      const news = adapter.changed?.(ref, context);
      const snapshot = await adapter.poll(ref, contextOf(ref));
      if (snapshot.state === 'working' && snapshot.progress !== undefined) {
        expect(snapshot).toMatchObject({ progress: { progress: 3, total: 10 }, message: 'half of a file' });
        break;
      }
      await news;
    }
    await adapter.cancel?.(ref, context);
    await endOfJob(adapter, ref);
    const quiet = adapterIn(folder, { progress: false });
    const end = await run(quiet, folder, { sh: 'echo "TAP version 13"; echo 1..1; echo "not ok 1 - it"' });
    expect(end).not.toMatchObject({ result: { structuredContent: { failed: 1 } } });
  });

  it('is counted from what a test runner prints, and the result names what failed', async () => {
    const folder = jobsFolder();
    const sh = `echo 'TAP version 13'; echo '1..3'; echo 'ok 1 - adds'; echo 'not ok 2 - subtracts'; echo 'ok 3 - divides # SKIP later'; exit 1`;
    const end = await run(adapterIn(folder), folder, { sh });
    expect(end).toMatchObject({
      outcome: 'error',
      result: { structuredContent: { passed: 1, failed: 1, skipped: 1, failures: ['subtracts'] } },
    });
    expect(textOf(end)).toContain('1 passed, 1 failed, 1 skipped\nfailed: subtracts');
  });
});
