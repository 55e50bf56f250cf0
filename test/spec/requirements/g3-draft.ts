import { claimed, type Row } from './row.ts';

/** Server side of the draft after 2026-07-28: related tasks. */
// biome-ignore format: two lines a requirement read like the table they are.
export const g3DraftServer: readonly Row[] = [
  ['G3D-S-01', 'O', claimed, 'ED',
    'Ignore it entirely, silently'],
  ['G3D-S-02', 'M', claimed, 'ED Related Tasks; Security',
    'Authorize each id as for `tasks/get` before any use'],
  ['G3D-S-03', 'S', claimed, 'ED',
    'Unknown or foreign ids: as if absent; do not reveal existence'],
  ['G3D-S-04', 'S', claimed, 'ED',
    'Empty array = absent; ignore duplicates; ignore entries above an own limit'],
  ['G3D-S-05', 'M', claimed, 'ED',
    'Presence never triggers task creation'],
];

/** Client side of the draft after 2026-07-28: related tasks. */
// biome-ignore format: two lines a requirement read like the table they are.
export const g3DraftClient: readonly Row[] = [
  ['G3D-C-01', 'O', claimed, 'ED Related Tasks',
    '`_meta["io.modelcontextprotocol/relatedTaskIds"]: string[]` on `tools/call`'],
  ['G3D-C-02', 'S', claimed, 'ED',
    'Only ids from `CreateTaskResult`s of the same server and auth context'],
  ['G3D-C-03', 'S', claimed, 'ED',
    'Never let a model fill it; host fills it from its own records'],
  ['G3D-C-04', 'S', claimed, 'ED',
    'Assume no order meaning'],
];
