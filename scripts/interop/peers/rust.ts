// A client in Rust: the official SDK, which has the tasks of 2026-07-28.
import { join } from 'node:path';
import { builtByCargo } from '../../support/toolchains.ts';
import type { PeerKind } from '../peer.ts';
import { NativeProgram } from './program.ts';

const VERSION = '3.11.0'; // As rust/Cargo.toml has it.
const source = join(import.meta.dirname, 'rust');
const built = (): Promise<string> =>
  builtByCargo(source, 'rmcp-peer', join(import.meta.dirname, '../../../.cache/cargo'));

export const rmcp: PeerKind = {
  name: `rmcp ${VERSION} 2026-07-28`,
  native: true,
  prepare: built,
  connect: async (site) => NativeProgram.open({ command: await built(), args: [] }, site),
};
