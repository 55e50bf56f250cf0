import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseConfig } from '../../src/gateway/config/load.ts';
import { page } from './sources.ts';

const yaml = [...page('jobs.md').matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = '']) => text);
const env = { CI_TOKEN: 'a', CI_HOOK_SECRET: 'b', CLUSTER_KEY: 'c', PATH: '/usr/bin', HOME: '/home/x' };

describe('the configurations of docs/jobs.md', () => {
  it.each(yaml)('can be pasted: %#', (text) => {
    const folder = mkdtempSync(join(tmpdir(), 'longcall-docs-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'token'), 'secret\n', { mode: 0o600 });
    const { config } = parseConfig(text, 'longcall.yaml', { env, folder });
    expect([...(config.shell ?? []), ...(config.http ?? [])].length).toBeGreaterThan(1);
  });

  it('are there', () => {
    expect(yaml.length).toBe(2);
  });
});
