import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from './sources.ts';

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`),
];

/** As hosts of repositories name the headings of a page. */
function anchors(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    (heading as string)
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}

describe.each(pages)('%s', (name) => {
  it('links to nothing that is not there', () => {
    const text = readFileSync(join(root, name), 'utf8');
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link as string);
    const broken = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? join(root, name) : join(root, dirname(name), path);
      if (!existsSync(target)) return true;
      return (
        anchor !== undefined && statSync(target).isFile() && !anchors(readFileSync(target, 'utf8')).includes(anchor)
      );
    });
    expect(broken).toEqual([]);
  });
});

it('every page of the documentation is linked from the first one', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const unlinked = pages.filter((name) => name.startsWith('docs/') && !readme.includes(`](${name})`));
  expect(unlinked).toEqual([]);
});
