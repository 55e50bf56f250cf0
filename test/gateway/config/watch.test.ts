import { EventEmitter } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Timer } from '../../../src/core/index.ts';
import { type LoadedConfig, loadConfig } from '../../../src/gateway/config/load.ts';
import { type ConfigWatch, watchConfig } from '../../../src/gateway/config/watch.ts';
import { ManualClock } from '../../../src/testing/index.ts';

/** What is told, one after the other. */
class Told<Value> {
  readonly all: Value[] = [];
  #wake = (): void => {};
  readonly tell = (value: Value): void => {
    this.all.push(value);
    this.#wake();
  };
  async next(): Promise<Value> {
    if (this.all.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.all.shift() as Value;
  }
}

/** Tells when a timer is set, since what sets it comes from the file system. */
class HeardClock extends ManualClock {
  readonly #timers = new Told<number>();
  override setTimer(delayMs: number, callback: () => void): Timer {
    const timer = super.setTimer(delayMs, callback);
    this.#timers.tell(delayMs);
    return timer;
  }
  /** Resolves for each timer once. */
  timer(): Promise<number> {
    return this.#timers.next();
  }
}

const upstreams = (...names: string[]) =>
  `upstreams: { ${names.map((name) => `${name}: { command: ${name} }`).join(', ')} }\n`;
const namesOf = ({ config }: LoadedConfig) => config.upstreams.map(({ name }) => name);

describe('a configuration that is watched', () => {
  let folder: string;
  let file: string;
  let clock: HeardClock;
  let signals: EventEmitter;
  let configs: Told<LoadedConfig>;
  let errors: Told<Error>;
  let watching: ConfigWatch | undefined;
  const env: Record<string, string> = {};

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'longcall-watch-'));
    file = join(folder, 'longcall.yaml');
    writeFileSync(file, upstreams('a'));
    clock = new HeardClock();
    signals = new EventEmitter();
    configs = new Told();
    errors = new Told();
    for (const name of Object.keys(env)) delete env[name];
  });
  afterEach(() => {
    watching?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function watch(
    current?: LoadedConfig,
    onConfig: (loaded: LoadedConfig) => void | Promise<void> = configs.tell,
  ): Promise<void> {
    watching = watchConfig(file, onConfig, errors.tell, {
      env,
      clock,
      signals: signals as unknown as NodeJS.Process,
      ...(current !== undefined && { current }),
    });
    await null; // Its first look.
  }
  const settled = async (): Promise<void> => {
    await clock.timer();
    clock.advance(100);
  };
  /** By now everything that was noticed has been looked at: what is asked for is told in its turn. */
  const nothingElse = async (): Promise<void> => {
    await watching!.reload();
    expect(configs.all).toHaveLength(1);
    configs.all.length = 0;
    expect(errors.all).toEqual([]);
  };

  it('is told when it is written', async () => {
    await watch(loadConfig(file, env));
    writeFileSync(file, upstreams('a', 'b'));
    await settled();
    expect(namesOf(await configs.next())).toEqual(['a', 'b']);
    await nothingElse();
  });

  it('is told when another takes its place, again and again', async () => {
    await watch(loadConfig(file, env));
    for (const name of ['b', 'c', 'd']) {
      writeFileSync(`${file}.new`, upstreams(name));
      renameSync(`${file}.new`, file);
      await settled();
      expect(namesOf(await configs.next())).toEqual([name]);
    }
    await nothingElse();
  });

  it('is told when the link to it leads elsewhere, and when what it leads to is written', async () => {
    for (const name of ['one', 'two']) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'longcall.yaml'), upstreams(name));
    }
    symlinkSync('one', join(folder, 'data'));
    rmSync(file);
    symlinkSync('data/longcall.yaml', file);
    await watch(loadConfig(file, env));
    symlinkSync('two', join(folder, 'data.new'));
    renameSync(join(folder, 'data.new'), join(folder, 'data'));
    await settled();
    expect(namesOf(await configs.next())).toEqual(['two']);
    writeFileSync(join(folder, 'two/longcall.yaml'), upstreams('three'));
    await settled();
    expect(namesOf(await configs.next())).toEqual(['three']);
  });

  it('is read once it is left alone', async () => {
    await watch(loadConfig(file, env));
    writeFileSync(file, upstreams('a', 'b'));
    await clock.timer();
    clock.advance(99);
    writeFileSync(file, upstreams('a', 'b', 'c'));
    await clock.timer();
    clock.advance(99);
    expect(clock.pendingTimers).toBe(1);
    clock.advance(1);
    expect(namesOf(await configs.next())).toEqual(['a', 'b', 'c']);
    await nothingElse();
  });

  it('is told at once where it was changed before anybody watched', async () => {
    const before = loadConfig(file, env);
    writeFileSync(file, upstreams('b'));
    await watch(before);
    expect(namesOf(await configs.next())).toEqual(['b']);
  });

  it('is told at once where nothing is served yet', async () => {
    await watch();
    expect(namesOf(await configs.next())).toEqual(['a']);
  });

  it('is not told when it says the same', async () => {
    await watch(loadConfig(file, env));
    writeFileSync(file, `# a comment\n${upstreams('a')}`);
    await settled();
    await nothingElse();
  });

  it('keeps what was served when it becomes bad, tells what is wrong, and goes on when it is good again', async () => {
    await watch(loadConfig(file, env));
    writeFileSync(file, 'upstreams: { a: { comand: a } }');
    await settled();
    expect((await errors.next()).message).toBe(
      `${file}:1:14: upstreams.a: expected either command or url, got neither\n` +
        `${file}:1:19: upstreams.a.comand: unknown; did you mean "command"?`,
    );
    rmSync(file);
    await settled();
    expect((await errors.next()).message).toBe(`${file}:1:1: there is no file ${file}`);
    expect(configs.all).toEqual([]);
    writeFileSync(file, upstreams('b'));
    await settled();
    expect(namesOf(await configs.next())).toEqual(['b']);
  });

  it('is read again on SIGHUP, with what it refers to', async () => {
    writeFileSync(file, 'upstreams: { a: { command: a, env: { TOKEN: "$'.concat('{env:T}" } } }'));
    env['T'] = 'one';
    await watch(loadConfig(file, env));
    env['T'] = 'two';
    signals.emit('SIGHUP');
    expect((await configs.next()).secrets).toEqual(['two']);
    signals.emit('SIGHUP'); // It is an answer to whoever sent it, also where there is nothing new.
    expect((await configs.next()).secrets).toEqual(['two']);
    delete env['T'];
    signals.emit('SIGHUP');
    expect((await errors.next()).message).toContain('the environment variable T is not set');
  });

  it('is told one at a time, and once more where it could not be served', async () => {
    let refuse = (_error: Error): void => {};
    const first = new Promise<void>((_resolve, reject) => {
      refuse = reject;
    });
    let calls = 0;
    await watch(loadConfig(file, env), async (loaded) => {
      calls += 1;
      configs.tell(loaded);
      if (calls === 1) await first;
    });
    const one = watching!.reload();
    expect(namesOf(await configs.next())).toEqual(['a']);
    writeFileSync(file, upstreams('b'));
    await settled();
    const two = watching!.reload();
    await new Promise(setImmediate); // Whatever would run by itself has run.
    expect(configs.all).toEqual([]);
    refuse(new Error('no room'));
    await Promise.all([one, two]);
    expect((await errors.next()).message).toBe('no room');
    expect(configs.all.map(namesOf)).toEqual([['b'], ['b']]);
  });

  it('is left alone once nobody watches', async () => {
    await watch(loadConfig(file, env));
    writeFileSync(file, upstreams('b'));
    await clock.timer();
    watching!.close();
    expect(clock.pendingTimers).toBe(0);
    expect(signals.listenerCount('SIGHUP')).toBe(0);
    await watching!.reload();
    expect(configs.all).toEqual([]);
  });
});
