import type { ConnectTarget } from '../../client/index.ts';
import type { Clock, Logger, RandomSource } from '../../core/index.ts';
import type { UpstreamConfig } from '../config/types.ts';
import type { ProcessNotes } from '../upstreams/orphans.ts';
import { type SupervisedStdio, supervisedStdio } from '../upstreams/supervised-stdio.ts';

export interface ReachParts {
  clock: Clock;
  random: RandomSource;
  logger: Logger;
  /** Of processes that must not outlive this one. */
  notes: ProcessNotes;
}

/** How an upstream is connected to. */
export interface Reached {
  target: ConnectTarget;
  /** The process that is kept running for it, if it is one. */
  stdio?: SupervisedStdio;
}

/** @param authorization what its caller showed last, where that is to be passed on */
export function reach(
  { name, target, idleAfterMs }: UpstreamConfig,
  authorization: () => string | undefined,
  { notes, ...parts }: ReachParts,
): Reached {
  if ('command' in target) {
    const { command, args, cwd, env } = target;
    const stdio = supervisedStdio({
      ...parts,
      command,
      args,
      env,
      ...(cwd !== undefined && { cwd }),
      ...(idleAfterMs !== undefined && { idleAfterMs }),
      secrets: Object.values(env).filter((value) => value.length >= SHORTEST_SECRET),
      onProcess: (identity) => notes.add(identity),
      onLine: (line) => parts.logger.debug({ upstream: name, line }, 'an upstream says'),
    });
    return { target: stdio, stdio };
  }
  const { url, headers, forwardAuthorization } = target;
  const send: typeof fetch = (input, init) => {
    const shown = forwardAuthorization ? authorization() : undefined;
    if (shown === undefined) return fetch(input, init);
    const all = new Headers(init?.headers);
    all.set('authorization', shown);
    return fetch(input, { ...init, headers: all });
  };
  return { target: { url, http: { requestInit: { headers: { ...headers } }, fetch: send } } };
}

/** Shorter values (`1`, `true`, `en`) would black out half of what is said. */
const SHORTEST_SECRET = 8;
