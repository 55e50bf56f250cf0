import type { Generation, ReachedFacts, UpstreamFacts } from './facts.ts';
import { counted, type Found, fail, ok, warn } from './finding.ts';

/** A request that is answered slower than this makes every call of an agent feel slow. */
const SLOW_REQUEST_MS = 1_000;
/** Hosts wait about so long for a server to be there. */
const SLOW_CONNECT_MS = 10_000;

/** What is to be said of one upstream. @param own the version of this command */
export function upstreamFindings(facts: UpstreamFacts, own: string): Found[] {
  const { reached } = facts;
  if (reached === undefined) return [unreached(facts), ...versionFindings(facts, own)];
  return [
    ...versionFindings(facts, own),
    ...servedFindings(facts, reached),
    ...generationFindings(reached),
    ...conductFindings(reached),
  ];
}

function unreached({ trouble = 'it did not answer', stderr, target }: UpstreamFacts): Found {
  const said =
    stderr.length === 0 || trouble.includes('it said last') ? '' : `; it said last: ${stderr.slice(-3).join(' | ')}`;
  return fail('upstream-unreachable', `${trouble}${said}`, adviceFor(trouble, target));
}

function versionFindings({ longcall, from }: UpstreamFacts, own: string): Found[] {
  if (longcall === undefined || longcall === own) return [];
  const message = `its host runs longcall ${longcall} for it, and this is ${own}`;
  return [warn('entry-version', message, `change the version in ${from}: hosts of one version share a daemon`)];
}

function adviceFor(trouble: string, target: string): string {
  const isUrl = /^https?:/.test(target);
  if (/no such program/.test(trouble))
    return `install ${target}, or give its whole path: hosts often have another PATH than a terminal`;
  if (/may not be run/.test(trouble)) return `make it executable: chmod +x ${target}`;
  if (/environment variable|expected|--header|\$\{/.test(trouble)) return 'set it, or correct the entry';
  if (/\b(401|403)\b|unauthori[sz]ed|forbidden/i.test(trouble))
    return 'give it the credentials that it wants, with a header';
  if (/not connected within|no answer within/.test(trouble))
    return 'it may only be slow: try again with a longer --timeout';
  return isUrl
    ? 'see that it runs and that its address is right'
    : 'run its command in a terminal, and see what it says';
}

function servedFindings({ named, from }: UpstreamFacts, { tools, served }: ReachedFacts): Found[] {
  if (tools === 0)
    return [
      warn(
        'upstream-without-tools',
        'it has no tools',
        'see that it is the server that is meant; there is nothing to make tasks of',
      ),
    ];
  const { task, direct, auto, hidden } = served;
  const kinds = Object.entries({ task, direct, auto, hidden }).filter(([, count]) => count > 0);
  const how = kinds.map(([kind, count]) => `${count} ${kind}`).join(', ');
  if (named === 'host') {
    const advice = `longcall wrap-config ${from} shows how to put it there`;
    return [
      ok(
        'upstream-not-wrapped',
        `its host reaches it without the gateway; behind it, its tools would be ${how}`,
        advice,
      ),
    ];
  }
  if (task + direct + auto === 0) {
    return [
      warn('upstream-all-hidden', `none of its ${tools} tools is served`, 'allow and deny say which are: correct them'),
    ];
  }
  return [ok('upstream-served', `${counted(tools, 'tool')}, served as ${how}`)];
}

const GENERATIONS: Record<Exclude<Generation, 'none' | 'misdeclared' | 'SEP-1686'>, string> = {
  '2026-07-28': 'it has tasks of its own (the extension of 2026-07-28): a task here follows the one there',
  '2025-11-25': 'it has tasks of its own (those of 2025-11-25): a task here follows the one there',
  companions: 'it has tasks behind companion tools: a task here follows the one there',
};

function generationFindings({ generation, protocol, served, firstDraft, failWhenLost }: ReachedFacts): Found[] {
  switch (generation) {
    case '2026-07-28':
    case '2025-11-25':
    case 'companions':
      return [ok('upstream-tasks', GENERATIONS[generation])];
    case 'misdeclared':
      return [
        warn(
          'upstream-tasks-misdeclared',
          'it declares tasks, but not for tools (tasks.requests.tools.call): its tools are called without, and the gateway makes the tasks',
          'tell its author; nothing needs to be set here',
        ),
      ];
    case 'SEP-1686':
      return [
        firstDraft
          ? ok('upstream-tasks', 'it has tasks by the first draft (SEP-1686): a task here follows the one there')
          : warn(
              'upstream-tasks-draft',
              `legacy handshake (${protocol}): it has tasks by the first draft (SEP-1686), which are not asked for: the gateway makes the tasks`,
              'set firstDraft: true for it in longcall.yaml',
            ),
      ];
    case 'none': {
      const legacy = protocol < '2025-11-25' ? `legacy handshake (${protocol}): ` : '';
      if (served.task + served.auto === 0) {
        return [
          ok(
            'upstream-no-tasks',
            `${legacy}no tasks, and none are made of its calls`,
            'mode: task or auto (--mode) makes tasks of them',
          ),
        ];
      }
      const lost = failWhenLost === 0 ? '' : `; calls of ${failWhenLost} of them fail if it dies meanwhile`;
      return [
        ok(
          'upstream-no-tasks',
          `${legacy}no tasks of its own: the gateway makes them${lost}`,
          ...(failWhenLost === 0 ? [] : ['onLost: rerun (--on-lost rerun) calls again, for tools that may run twice']),
        ),
      ];
    }
  }
}

/** How it behaves beside what it offers. */
function conductFindings({ connectMs, requestMs, silentOnProbe, endsOnProbe, noise, escaped }: ReachedFacts): Found[] {
  const found: Found[] = [];
  if (silentOnProbe) {
    found.push(
      warn(
        'upstream-silent-on-probe',
        'it does not answer when it is asked for its revision: each start takes up to 15 s longer',
        'update the server, or tell its author to answer unknown methods with -32601',
      ),
    );
  } else if (connectMs >= SLOW_CONNECT_MS) {
    found.push(
      warn(
        'upstream-slow-start',
        `it takes ${seconds(connectMs)} until it is there; hosts give up after 10 to 60 s`,
        'install it instead of having npx or uvx download it; the daemon keeps it running between hosts',
      ),
    );
  }
  if (endsOnProbe) {
    found.push(
      warn(
        'upstream-ends-on-probe',
        'it ends when it is asked for its revision, and is started twice',
        'update the server, or tell its author',
      ),
    );
  }
  if (requestMs === undefined) {
    found.push(
      warn(
        'upstream-no-answer',
        'it answered none of a few cheap requests in time',
        'try again with a longer --timeout',
      ),
    );
  } else if (requestMs >= SLOW_REQUEST_MS) {
    found.push(
      warn(
        'upstream-slow',
        `it takes ${seconds(requestMs)} to answer a cheap request`,
        'see what it is busy with, or how far away it is',
      ),
    );
  }
  if (noise > 0) {
    found.push(
      warn(
        'upstream-noise',
        `it prints ${counted(noise, 'line')} on its standard output, where only messages belong`,
        'have it log to its standard error; the gateway skips these lines, hosts may not',
      ),
    );
  }
  if (escaped > 0) {
    found.push(
      warn(
        'upstream-leaves-processes',
        `it left something running: ${escaped === 1 ? '1 process' : `${escaped} processes`}`,
        'tell its author; they were left alone, as they may be meant to stay',
      ),
    );
  }
  return found;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}
