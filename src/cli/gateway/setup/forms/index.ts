import { CliError } from '../../../errors.ts';
import { json } from './json.ts';
import { toml } from './toml.ts';
import { CannotEdit, ConfigSyntaxError, type Syntax } from './tree.ts';
import { yaml } from './yaml.ts';

/** By the end of its name; JSON, if it says nothing else. */
export function syntaxOf(file: string): Syntax {
  if (/\.toml$/i.test(file)) return toml;
  return /\.ya?ml$/i.test(file) ? yaml : json;
}

export function syntaxNamed(name: Syntax['name']): Syntax {
  return { JSON: json, TOML: toml, YAML: yaml }[name];
}

/** Errors of a file, with its name. */
export function inFile<Result>(file: string, syntax: Syntax, use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    if (error instanceof ConfigSyntaxError) throw new CliError(`${file}: is no ${syntax.name}: ${error.message}`);
    if (error instanceof CannotEdit) throw new CliError(`${file}: ${error.message}; nothing is written`);
    throw error;
  }
}
