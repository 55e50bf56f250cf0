import type { CommandFacts } from './facts.ts';
import { type Found, fail, ok } from './finding.ts';

/** Whether a command of the gateway's own could be started. */
export function commandFindings({ program, found, missingFolder }: CommandFacts): Found[] {
  return [
    found === undefined
      ? fail(
          'command-missing',
          `${program} is no program in its PATH`,
          'install it, or see env, inheritEnv and cwd of the tool',
        )
      : ok('command-found', `its program is ${found}`),
    ...(missingFolder === undefined
      ? []
      : [fail('command-folder-missing', `there is no folder ${missingFolder}`, 'make it, or name another with cwd')]),
  ];
}
