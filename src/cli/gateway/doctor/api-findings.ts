import type { ApiFacts } from './facts.ts';
import { type Found, fail, ok } from './finding.ts';

/** Whether an API of the gateway's own tools could be asked. */
export function apiFindings({ origin, trouble }: ApiFacts): Found[] {
  if (trouble === undefined) return [ok('api-found', `${origin} has addresses that may be reached; it was not asked`)];
  return [
    fail('api-not-reached', trouble, 'see start.url and allowPrivate of the tool, and the resolver of this machine'),
  ];
}
