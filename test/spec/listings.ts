import type { FailureCase } from './cases.ts';
import type { Listing } from './checks.ts';
import type { Requirement } from './requirements.ts';

export const requirementIds = /^G/;
export const caseIds = /^C-/;

export function listingOfRequirement({ id, status }: Requirement): Listing {
  switch (status.state) {
    case 'claimed':
      return { id, tests: status.tests };
    case 'open':
      return { id, tests: [], untested: `still open (issue ${status.issue})` };
    case 'not_applicable':
      return { id, tests: [], untested: 'declared not applicable' };
  }
}

export function listingOfCase({ id, status }: FailureCase): Listing {
  switch (status.state) {
    case 'tested':
    case 'partly':
      return { id, tests: status.tests };
    case 'later':
      return { id, tests: [], untested: `left for later (issue ${status.issue})` };
  }
}
