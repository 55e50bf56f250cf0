import { ANONYMOUS_PRINCIPAL, LOCAL_PRINCIPAL, type Principal } from '../../src/core/index.ts';
import type { CallerAuth } from '../../src/server/index.ts';
import type { Who } from './steps.ts';

/** Those who have tasks when an episode begins. */
export const owners = ['ada', 'bob', 'local'] as const;
export type Owner = (typeof owners)[number];

/** What has become of an owner's tasks when an episode begins, and on which revision each was made. */
export const cast = [
  { name: 'done', tool: 'echo', revision: '2026-07-28' },
  { name: 'done before', tool: 'echo', revision: '2025-11-25' },
  { name: 'broken', tool: 'broken', revision: '2026-07-28' },
  { name: 'report', tool: 'report', revision: '2025-11-25' },
  { name: 'asking', tool: 'paint', revision: '2026-07-28' },
  { name: 'asking before', tool: 'paint', revision: '2025-11-25' },
  { name: 'interview', tool: 'interview', revision: '2025-11-25' },
  { name: 'visit', tool: 'visit', revision: '2026-07-28' },
  { name: 'sample', tool: 'sample', revision: '2025-11-25' },
  { name: 'slow', tool: 'slow', revision: '2026-07-28' },
  { name: 'slow before', tool: 'slow', revision: '2025-11-25' },
  { name: 'asleep', tool: 'nap', revision: '2026-07-28' },
  { name: 'cancelled', tool: 'slow', revision: '2026-07-28' },
  { name: 'gone', tool: 'echo', revision: '2025-11-25' },
] as const;
export type CastName = (typeof cast)[number]['name'];

/** Questions that are open when an episode begins: task and key. */
export const questions = [
  ['asking', 'colour'],
  ['asking before', 'colour'],
  ['interview', '__proto__'],
  ['visit', 'pay'],
  ['sample', 'sum'],
] as const satisfies readonly (readonly [CastName, string])[];

/** What the server is told about who calls. */
export function authOf(who: Who): (CallerAuth & { token: string; clientId: string; scopes: string[] }) | undefined {
  if (who === 'local') return undefined;
  const extra = who === 'nobody' ? {} : { iss: 'https://id', sub: who };
  return { token: `token of ${who}`, clientId: 'the app', scopes: [], extra };
}

/** Whose the tasks of an owner are. @param open the server does not know those without a token */
export function principalOf(owner: Owner, { open }: { open: boolean }): Principal {
  if (owner === 'local') return open ? ANONYMOUS_PRINCIPAL : LOCAL_PRINCIPAL;
  return { subject: `https://id|${owner}` };
}
