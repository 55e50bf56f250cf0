import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

// What users can import is a promise, so it changes only on purpose. Values are read off the modules themselves, types
// off the published declarations.
interface Pin {
  values: string[];
  types: string[];
}

const pinFile = new URL('exports.json', import.meta.url);
const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  exports: Record<string, string | { types: string; default: string }>;
};

it('exports from each subpath exactly the names that are pinned', async () => {
  const actual: Record<string, Pin> = {};
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string') continue; // ./package.json
    const values = Object.keys(await import(`longcall${subpath.slice(1)}`)).sort();
    const types = declaredNames(target.types).filter((name) => !values.includes(name));
    actual[subpath] = { values, types };
  }
  if (process.env.UPDATE_PINS === '1') writeFileSync(pinFile, `${JSON.stringify(actual, null, 2)}\n`);
  expect(
    actual,
    'The names that users can import differ from test/pins/exports.json. If that is meant: run UPDATE_PINS=1 npx vitest ' +
      'run test/pins, and say it in CHANGELOG.md in the same commit.',
  ).toEqual(JSON.parse(readFileSync(pinFile, 'utf8')));
});

/** Every name that a declaration file exports, values and types alike. */
function declaredNames(file: string): string[] {
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url));
  const program = ts.createProgram([path], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    types: [],
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(path);
  const module = source && checker.getSymbolAtLocation(source);
  if (module === undefined) throw new Error(`${file} is not a module`);
  return checker
    .getExportsOfModule(module)
    .map((symbol) => symbol.name)
    .sort();
}
