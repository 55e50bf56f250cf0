import { readFileSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { privateFolder } from '../../../src/gateway/daemon/private-folder.ts';
import { logPath, oldLogPath, openLog, rotatingLogger } from '../../../src/gateway/daemon/rotating-log.ts';
import { scratchFolder } from '../../support/stores.ts';

describe('the log of a daemon', () => {
  it('never grows beyond its size, keeps what came before once, and is for its owner alone', () => {
    const { path, remove } = scratchFolder();
    onTestFinished(remove);
    const folder = privateFolder(join(path, 'state'));
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const standardError = openLog(folder);
    const logger = rotatingLogger(folder, 2_000);
    for (let n = 0; n < 100; n += 1) {
      logger.info({ n }, 'something happened');
      if (n % 10 === 0) writeSync(standardError, `trace ${n}\n`);
      expect(statSync(logPath(folder)).size).toBeLessThanOrEqual(2_100);
    }
    const lines = [oldLogPath(folder), logPath(folder)].flatMap((file) =>
      readFileSync(file, 'utf8').trimEnd().split('\n'),
    );
    expect(lines.at(-1)).toContain('"n":99');
    const numbers = lines.filter((line) => line.startsWith('{')).map((line) => (JSON.parse(line) as { n: number }).n);
    expect(numbers).toEqual(Array.from(numbers, (_, index) => 100 - numbers.length + index));
    expect(lines).toContain('trace 90');
    for (const file of [logPath(folder), oldLogPath(folder)]) expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});
