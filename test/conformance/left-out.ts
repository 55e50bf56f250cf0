// What `npm run conformance` does not count, and why. It tries each entry all the same: one that passes, or that the
// suite no longer has, is an error, so nothing stays on this list longer than it must.
//
// A scenario that several revisions share is run on 2026-07-28 alone, for the reason `OLDER` gives.

const OLDER = 'is only for revisions before 2026-07-28; those are served later, and tested then';
const SKILLS = 'tests the skills extension (SEP-2640), which has nothing to do with tasks';

/** Scenario names of the suite, each with the reason why it is left out. */
export const leftOut: Readonly<Record<string, string>> = {
  'tasks-status-notifications': 'has no checks in this version of the suite: it skips itself, whatever the server does',

  'elicitation-sep1034-defaults': OLDER,
  'elicitation-sep1330-enums': OLDER,
  'logging-set-level': OLDER,
  'resources-subscribe': OLDER,
  'resources-unsubscribe': OLDER,
  'server-session-lifecycle': OLDER,
  'server-sse-polling': OLDER,
  'tools-call-elicitation': OLDER,
  'tools-call-sampling': OLDER,
  'tools-call-with-logging': OLDER,

  'sep-2640-skills-directory': SKILLS,
  'sep-2640-skills-enumeration': SKILLS,
  'sep-2640-skills-manifest': SKILLS,
};
