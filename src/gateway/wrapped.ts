import { basename } from 'node:path';
import type { ToolPolicy, UpstreamConfig, UpstreamTarget } from './config/types.ts';
import { upstreamKey } from './upstreams/upstream-key.ts';

/** A server that somebody wraps: an upstream that was given no name. */
export interface WrapSpec {
  target: UpstreamTarget;
  policy: ToolPolicy;
  tools: readonly { match: string; policy: ToolPolicy }[];
}

const KEY_LETTERS = 8;

/**
 * The upstream of what is wrapped. Tasks are kept under its name, so that it is the same for the same server, after a restart too,
 * and never the same for another: not for the same command with other credentials either.
 */
export function wrappedUpstream({ target, policy, tools }: WrapSpec, secret: Uint8Array): UpstreamConfig {
  const key = upstreamKey(target, secret)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '0');
  return { name: `${slugOf(target)}-${key.slice(0, KEY_LETTERS)}`, target, prefix: '', policy, tools };
}

const LAUNCHERS = /^(npx|npm|pnpm|yarn|bunx?|uvx?|pipx|python[\d.]*|node|deno|docker|cmd|sh|bash)(\.(cmd|exe))?$/i;
/** Words after which comes what is launched. */
const WORDS = /^(run|exec|x|dlx|tool|-.*|\/c)$/;
const MAX_SLUG = 20;

/** A word by which people know it again. */
export function slugOf(target: UpstreamTarget): string {
  return slug('url' in target ? new URL(target.url).hostname : launched([target.command, ...target.args])) || 'server';
}

function launched(words: readonly string[]): string {
  const named = words.find((word) => !LAUNCHERS.test(basename(word)) && !WORDS.test(word));
  const [path = ''] = (named ?? '').replace(/(.)@[^/@]*$/, '$1').split('?');
  return basename(path).replace(/\.[a-z]+$/, '');
}

function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SLUG)
    .replace(/^-+|-+$/g, '');
}

/** Of a terminal, a login or a moment, and nothing that a server works with: it would be another server after each restart. */
const PASSING =
  /^(PWD|OLDPWD|SHLVL|_|COLUMNS|LINES|WINDOWID|TERM_SESSION_ID|TERM_PROGRAM.*|SSH_(TTY|CLIENT|CONNECTION)|TMUX.*|STY|XDG_SESSION_ID|LONGCALL_.*)$/;

/** What a wrapped server is given of the environment that its host gave. */
export function lastingEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const given = Object.entries(env).filter(([name, value]) => value !== undefined && !PASSING.test(name));
  return Object.fromEntries(given) as Record<string, string>;
}
