import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8')) as Record<string, unknown>;

interface Locked {
  version?: string;
  resolved?: string;
  integrity?: string;
  hasInstallScript?: boolean;
  link?: boolean;
}

const manifest = read('package.json') as Record<string, Record<string, string>>;
const locked = Object.entries(read('package-lock.json')['packages'] as Record<string, Locked>).filter(
  ([path]) => path !== '',
);

describe('what an install brings', () => {
  it('is of exact versions', () => {
    const pins = [manifest['dependencies'], manifest['devDependencies']].flatMap((names) =>
      Object.entries(names ?? {}),
    );
    expect(
      pins.filter(([, version]) => !/^(npm:(@[\w.-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)),
    ).toEqual([]);
    expect(pins.length).toBeGreaterThan(10);
  });

  it('is, byte for byte, what it was when it was locked, from whichever registry', () => {
    const loose = locked.filter(
      ([, { resolved, integrity, link }]) =>
        link === true || /^(git|file|http:)/.test(resolved ?? '') || !/^sha(512|256)-/.test(integrity ?? ''),
    );
    expect(loose.map(([path]) => path)).toEqual([]);
  });

  it('runs no script that was not looked at', () => {
    const scripts = locked.filter(([, { hasInstallScript }]) => hasInstallScript === true);
    const names = scripts.map(([path]) => path.replace(/^.*node_modules\//, ''));
    expect([...new Set(names)].filter((name) => !(name in (manifest['allowScripts'] ?? {})))).toEqual([]);
  });
});
