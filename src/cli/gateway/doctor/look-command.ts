import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { ShellToolConfig } from '../../../gateway/config/types.ts';
import type { CommandFacts } from './facts.ts';

/** Where a system looks if nothing says where. */
const USUAL = ['/usr/bin', '/bin'];
const ENDINGS = process.platform === 'win32' ? ['.exe', '.cmd', '.bat', ''] : [''];

/** Whether a command could be started: it is not. @param from the file that has it */
export function lookAtCommand({ name, recipe }: ShellToolConfig, from: string): CommandFacts {
  const { file, cwd = process.cwd(), env } = recipe;
  const { PATH } = env;
  const folders = typeof PATH === 'string' && PATH !== '' ? PATH.split(delimiter) : USUAL;
  const places = /[/\\]/.test(file) ? [resolve(cwd, file)] : folders.map((folder) => join(resolve(cwd, folder), file));
  const found = places.flatMap((place) => ENDINGS.map((ending) => `${place}${ending}`)).find(isProgram);
  const folder = statSync(cwd, { throwIfNoEntry: false });
  return {
    name,
    from,
    program: file,
    ...(found !== undefined && { found }),
    ...(folder?.isDirectory() !== true && { missingFolder: cwd }),
  };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
