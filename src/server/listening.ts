import type { JsonObject } from '../core/index.ts';
import { declaredCapabilities, listenedTo } from '../wire/rev2026-07-28/index.ts';
import { type CallerAuth, principalIfKnown } from './principal.ts';
import type { Serving } from './serving.ts';

/** Tells whoever has to know that somebody listens. @returns to be called when he does no more */
export function tellListening(
  message: JsonObject,
  { onListen, principalOf }: Serving,
  auth: CallerAuth | undefined,
): () => void {
  const principal = onListen && principalIfKnown(principalOf, auth);
  if (onListen === undefined || principal === undefined) return () => {};
  const { uris, clientCapabilities } = listenedTo(message);
  return onListen({ principal, abilities: declaredCapabilities(clientCapabilities).abilities, uris });
}
