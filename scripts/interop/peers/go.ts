// A client in Go: the official SDK, which has no tasks.
import { join } from 'node:path';
import { builtByGo } from '../../support/toolchains.ts';
import type { PeerKind } from '../peer.ts';
import { PlainProgram } from './program.ts';

const VERSION = '1.8.0'; // As go/go.mod has it.
const source = join(import.meta.dirname, 'go');
const built = (): Promise<string> => builtByGo(source, join(import.meta.dirname, '../../../.cache/go-sdk-peer'));

export const goSdk = speaking('2026-07-28');
export const goSdkLegacy = speaking('2025-11-25');

function speaking(revision: string): PeerKind {
  return {
    name: `go sdk ${VERSION} ${revision}`,
    native: false,
    server: { detachAfterMs: 300 },
    prepare: built,
    async connect(site) {
      const how = { canBeAsked: true, hearsProgress: true };
      return PlainProgram.open({ command: await built(), args: [revision], ...how }, site);
    },
  };
}
