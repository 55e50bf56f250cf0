// What `npm run conformance` does not count, and why. It tries each entry all the same: one that passes, or that the
// suite no longer has, is an error, so nothing stays on this list longer than it must.
//
// A scenario that several revisions share is run on 2026-07-28; those that are only for earlier ones, on 2025-11-25.

const SUBSCRIBE = 'is about subscriptions before 2026-07-28, which an McpServer leaves to its author';
const RESUME = 'is about streams that are resumed; sessions here hold nothing, so that they survive a restart';
const SKILLS = 'tests the skills extension (SEP-2640), which has nothing to do with tasks';

const everywhere: Readonly<Record<string, string>> = {
  'tasks-status-notifications': 'has no checks in this version of the suite: it skips itself, whatever the server does',

  'server-sse-polling': RESUME,

  'sep-2640-skills-directory': SKILLS,
  'sep-2640-skills-enumeration': SKILLS,
  'sep-2640-skills-manifest': SKILLS,
};

/** Scenario names of the suite, each with the reason why it is left out. */
export const leftOut: Readonly<Record<string, string>> = {
  ...everywhere,
  'resources-subscribe': SUBSCRIBE,
  'resources-unsubscribe': SUBSCRIBE,
};

/** The same of the servers behind a gateway, which takes such subscriptions, and listens by those of 2026-07-28. */
export const leftOutThroughGateway: Readonly<Record<string, string>> = {
  ...everywhere,
  'tasks-mrtr-composition':
    'wants to be asked before there is a task: a call that is one here is one at once, since its server may ask hours later',
};
