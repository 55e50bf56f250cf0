import type { RemoteOptions } from '../../../src/client/connect-remote.ts';

/** How a client speaks to the server, and what the two can do together. */
export const WIRES = {
  '2026-07-28': { protocol: '2026-07-28' },
  '2025-11-25': { protocol: '2025-11-25' },
  'SEP-1686': { protocol: '2025-06-18', firstDraft: true },
  companions: { protocol: '2025-06-18' },
  none: { protocol: '2025-06-18' },
} as const satisfies Record<string, RemoteOptions>;

export type WireName = keyof typeof WIRES;
