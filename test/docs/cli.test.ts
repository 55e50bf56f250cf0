import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { Output } from '../../src/cli/output.ts';
import { longcall } from '../../src/cli/program.ts';
import { root } from './sources.ts';

const page = readFileSync(join(root, 'docs/cli.md'), 'utf8');
const program = longcall(new Output(process.stdout, process.stderr, {}), [], () => {});

function all(command: Command, path = ''): { usage: string; command: Command }[] {
  return command.commands.flatMap((child) => {
    const name = `${path}${child.name()}`;
    if (child.commands.length > 0) return all(child, `${name} `);
    const args = child.registeredArguments.map((argument) => {
      const shown = `${argument.name()}${argument.variadic ? '...' : ''}`;
      return argument.required ? ` <${shown}>` : ` [${shown}]`;
    });
    return [{ usage: `${name}${args.join('')}`, command: child }];
  });
}
const commands = all(program);
const flags = (text: string): string[] => [...text.matchAll(/(?<![\w:-])--?[a-zA-Z][a-z-]*/g)].map(([flag]) => flag);

describe('docs/cli.md', () => {
  it('has every command as --help has it', () => {
    const told = [...page.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, usage]) => usage),
    );
    for (const { usage } of commands) expect(told).toContain(usage);
  });

  it('names every option, and none that there is not', () => {
    const known = new Set(
      flags(`${program.helpInformation()}${commands.map((c) => c.command.helpInformation()).join('')}`),
    );
    const prose = page.replace(/^```[\s\S]*?^```/gm, '');
    const told = new Set(flags([...prose.matchAll(/`[^`\n]+`/g)].join('\n')));
    expect([...known].filter((flag) => !told.has(flag))).toEqual([]);
    expect([...told].filter((flag) => !known.has(flag))).toEqual([]);
  });

  it('names every exit code', () => {
    expect(page).toMatch(/^\| 124 \|/m);
    for (const code of [0, 1, 2, 3, 4, 5]) expect(page).toContain(`| ${code} |`);
  });
});
