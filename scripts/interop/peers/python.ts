// Clients in Python: the official SDK in both of its generations, and FastMCP with its package for tasks.
import { join } from 'node:path';
import { pythonWith } from '../../support/toolchains.ts';
import type { PeerKind } from '../peer.ts';
import { NativeProgram, PlainProgram, type ProgramOptions } from './program.ts';

const SDK_V1 = '1.30.0';
const SDK_V2 = '2.3.0';
/** The newest that go together: FastMCP has to be of the very version that its package for tasks names. */
export const FASTMCP = '4.1.4';
/** All of them in one environment. */
export const NEWER = [`mcp==${SDK_V2}`, `fastmcp==${FASTMCP}`, `fastmcp-tasks==${FASTMCP}`] as const;
const cache = join(import.meta.dirname, '../../../.cache');

const running = (command: string, name: string, ...args: string[]): ProgramOptions => ({
  command,
  args: [join(import.meta.dirname, 'python', `${name}.py`), ...args],
  env: { PYTHONDONTWRITEBYTECODE: '1' }, // It would be put beside the sources.
});

const older = (): Promise<string> => pythonWith([`mcp==${SDK_V1}`], cache);
const newer = (): Promise<string> => pythonWith(NEWER, cache);

export const pythonSdkV1: PeerKind = {
  name: `python sdk ${SDK_V1} 2025-11-25`,
  native: true,
  endsWithServer: true,
  prepare: older,
  connect: async (site) => NativeProgram.open(running(await older(), 'sdk_v1'), site),
};

export const pythonSdkV2 = withoutTasks('2026-07-28', '2026-07-28');
export const pythonSdkV2Legacy = withoutTasks('2025-11-25', 'legacy');

export const fastMcp = fastMcpTasks('');
/** Without the header, tasks cannot be followed over HTTP, and nothing more would be seen of it there. */
export const fastMcpNaming = fastMcpTasks('naming');

function fastMcpTasks(how: '' | 'naming'): PeerKind {
  return {
    name: `fastmcp ${FASTMCP} 2026-07-28${how && ', sending Mcp-Name'}`,
    native: true,
    endsWithServer: true,
    transports: how === '' ? ['http', 'stdio'] : ['http'],
    prepare: newer,
    async connect(site) {
      return NativeProgram.open(running(await newer(), 'fastmcp_tasks_client', how), site);
    },
  };
}

function withoutTasks(revision: string, mode: string): PeerKind {
  return {
    name: `python sdk ${SDK_V2} ${revision}`,
    native: false,
    endsWithServer: true,
    server: { detachAfterMs: 300 },
    prepare: newer,
    async connect(site) {
      const how = { canBeAsked: true, hearsProgress: true };
      return PlainProgram.open({ ...running(await newer(), 'sdk_v2', mode), ...how }, site);
    },
  };
}
