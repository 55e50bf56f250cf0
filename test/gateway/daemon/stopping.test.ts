import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { identify } from '../../../src/adapters/processes/process-table.ts';
import { systemClock, systemRandom } from '../../../src/core/index.ts';
import { stopDaemon } from '../../../src/gateway/daemon/control.ts';
import { lockPath } from '../../../src/gateway/daemon/daemon.ts';
import { writeRecord } from '../../../src/gateway/daemon/record.ts';
import { FileLock } from '../../../src/store/sqlite/file-lock.ts';
import { aPlace, killed } from './support.ts';

function aProcess(): number {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child.pid as number;
}

it('a daemon is stopped though another, which was being started, takes its place at once', async () => {
  const { folder } = aPlace();
  mkdirSync(folder, { mode: 0o700 });
  const lock = FileLock.take(lockPath(folder)); // First of the one, then of the other: never free in between.
  onTestFinished(() => lock?.release());
  const record = (pid: number): void => {
    const common = { version: '1.0.0', socket: `${folder}/daemon.sock`, startedAt: 0 };
    writeRecord(folder, { pid, process: identify(pid)!, ...common }, systemRandom);
  };
  const [one, other] = [aProcess(), aProcess()];
  record(one);
  const stopped = stopDaemon({ folder, version: '1.0.0', clock: systemClock, random: systemRandom });
  await killed(one);
  record(other);
  expect(await stopped).toBe(true);
});
