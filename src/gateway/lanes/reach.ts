import type { ConnectTarget } from '../../client/index.ts';
import type { UpstreamConfig } from '../config/types.ts';

/** How an upstream is connected to. */
export function reach({ target }: UpstreamConfig, authorization: () => string | undefined): ConnectTarget {
  if ('command' in target) {
    const { command, args, cwd, env } = target;
    return { command, args: [...args], env: { ...env }, ...(cwd !== undefined && { cwd }), stderr: 'ignore' };
  }
  const { url, headers, forwardAuthorization } = target;
  const send: typeof fetch = (input, init) => {
    const shown = forwardAuthorization ? authorization() : undefined;
    if (shown === undefined) return fetch(input, init);
    const all = new Headers(init?.headers);
    all.set('authorization', shown);
    return fetch(input, { ...init, headers: all });
  };
  return { url, http: { requestInit: { headers: { ...headers } }, fetch: send } };
}
