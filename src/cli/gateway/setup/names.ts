import type { Reached, Scope } from './hosts.ts';

/** Programs that run the program that they are told of. */
const RUNNERS = /^(npx|bunx|uvx|pipx|pnpm|pnpx|bun|deno|node|python\d?|uv|cmd|yarn|docker|tsx)(\.cmd|\.exe)?$/;
/** Words of theirs that name nothing. */
const VERBS = /^(run|exec|dlx|x|tool|\/c|npm:)$/;

/** What to call a server, by what its command is called: `npx -y @scope/server-files@1.2` is `files`. */
export function nameOf(url: string | undefined, command: readonly string[]): string {
  if (url !== undefined) return 'longcall';
  const words = command.filter((word) => !word.startsWith('-') && !VERBS.test(word));
  const named = words.find((word, n) => n === words.length - 1 || !RUNNERS.test(baseOf(word))) ?? '';
  const bare = baseOf(named.replace(/(?<=.)@[^@/\\]*$/, ''))
    .replace(/\.(m?[jt]s|cjs|py|exe|cmd)$/i, '')
    .replace(/^(mcp-)?(server-)?(mcp-)?(?=.)/, '')
    .replace(/(?<=.)(-mcp)?(-server)?(-mcp)?$/, '');
  return (
    bare
      .replace(/[^A-Za-z0-9_-]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 60) || 'longcall'
  );
}

function baseOf(word: string): string {
  return word.slice(Math.max(word.lastIndexOf('/'), word.lastIndexOf('\\')) + 1);
}

/** The same by Claude Code's own command. */
export function claudeCommand(name: string, scope: Scope, reached: Reached, platform: NodeJS.Platform): string {
  const quote = (word: string): string => quotedFor(platform, word);
  const add = ['claude', 'mcp', 'add', '--scope', scope];
  if (!('url' in reached)) return [...add, name, '--', reached.command, ...reached.args].map(quote).join(' ');
  const token = reached.tokenEnv === undefined ? [] : ['--header', `Authorization: Bearer \${${reached.tokenEnv}}`];
  return [...add, '--transport', 'http', name, reached.url, ...token].map(quote).join(' ');
}

/** A word as a shell takes it; single quotes, so that references are left to the host. */
function quotedFor(platform: NodeJS.Platform, word: string): string {
  if (/^[\w@%+=:,./\\-]+$/.test(word) && (platform === 'win32' || !word.includes('\\'))) return word;
  return platform === 'win32' ? `"${word.replaceAll('"', '\\"')}"` : `'${word.replaceAll("'", "'\\''")}'`;
}
