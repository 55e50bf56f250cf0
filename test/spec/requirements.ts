import citations from './citations.json' with { type: 'json' };
import { g1Client, g1Server } from './requirements/g1.ts';
import { g2Client, g2Server } from './requirements/g2.ts';
import { g3Client, g3Server } from './requirements/g3.ts';
import { g3DraftClient, g3DraftServer } from './requirements/g3-draft.ts';
import { gatewayDuties } from './requirements/gateway.ts';
import type { Issue, Level, Revision, Row } from './requirements/row.ts';

export interface Requirement {
  /** Group and number: the revision, S for the server's or receiver's side, C for the client's or requestor's. */
  id: string;
  level: Level;
  /** Where it says so; `sources` in requirements/row.ts spells the first part out. */
  source: string;
  revision: Revision;
  text: string;
  status:
    | { state: 'claimed'; tests: readonly string[] }
    | { state: 'open'; issue: Issue }
    | { state: 'not_applicable'; reason: string };
}

/** How many requirements each group has: a new or lost one is a change of the specification, not of this table. */
export const requirementGroups = {
  'G1-S': 49,
  'G1-C': 14,
  'G2-S': 70,
  'G2-C': 23,
  'G3-S': 90,
  'G3-C': 29,
  'G3D-S': 5,
  'G3D-C': 4,
};
export const dutyGroups = { GW: 20 };

/** Every requirement the protocol's task generations make, in our own words. */
export const requirements: readonly Requirement[] = [
  ...entries('sep-1686', [...g1Server, ...g1Client]),
  ...entries('2025-11-25', [...g2Server, ...g2Client]),
  ...entries('2026-07-28', [...g3Server, ...g3Client]),
  ...entries('draft', [...g3DraftServer, ...g3DraftClient]),
];

/** What a gateway between the generations has to do besides: our own list, counted apart. */
export const duties: readonly Requirement[] = entries('gateway', gatewayDuties);

function entries(revision: Revision, rows: readonly Row[]): Requirement[] {
  const cited: Record<string, string[]> = citations;
  return rows.map(([id, level, standing, source, text]) => ({
    id,
    level,
    source,
    revision,
    text,
    status: standing.state === 'claimed' ? { ...standing, tests: cited[id] ?? [] } : standing,
  }));
}
