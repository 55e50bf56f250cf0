import { readFileSync } from 'node:fs';
import type { Clock } from '../../../core/index.ts';
import { version } from '../../../gateway/version.ts';
import { sqliteVersion } from '../../../store/sqlite/look.ts';
import type { MachineFacts } from './facts.ts';

/** Begins to watch the clock; what it returns looks at the machine. */
export function watchMachine(clock: Clock): () => MachineFacts {
  const began = { wall: clock.now(), monotonic: clock.monotonic() };
  return () => {
    const now = clock.now();
    return {
      node: process.version,
      wantedNode: wantedNode(),
      longcall: version(),
      sqlite: sqliteVersion(),
      platform: `${process.platform} ${process.arch}`,
      now,
      clockJumpMs: Math.round(now - began.wall - (clock.monotonic() - began.monotonic)),
    };
  };
}

/** Out of the package's own manifest. */
function wantedNode(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8')) as {
    engines?: { node?: string };
  };
  return manifest.engines?.node ?? '';
}
