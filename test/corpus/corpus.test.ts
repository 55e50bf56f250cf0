// Complete conversations with our server as they went over the wire, frozen. A red one asks: is this change of the wire
// meant? If so, UPDATE_CORPUS=1 writes the files anew, and the difference belongs into the same commit.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { conversations } from './conversations.ts';
import { stage } from './stage.ts';

const folderOf = (revision: string): string => join(import.meta.dirname, revision);

describe.each(Object.entries(conversations))('what is said on %s', (revision, byName) => {
  const folder = folderOf(revision);

  it.each(Object.entries(byName))('in a conversation about %s has not changed', async (name, converse) => {
    const on = stage();
    await converse(on);
    const text = on.recorder.text();
    expect(text).not.toBe('');
    const file = join(folder, `${name}.jsonl`);
    if (process.env['UPDATE_CORPUS'] === '1') {
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, text);
    }
    expect(text).toBe(readFileSync(file, 'utf8'));
  });

  it('is recorded in these files and no others', () => {
    const files = readdirSync(folder).sort();
    expect(files).toEqual(
      Object.keys(byName)
        .map((name) => `${name}.jsonl`)
        .sort(),
    );
  });
});
