import { type Offer, withOffer } from './rev-sep-1686/index.ts';
import { agreedVersion, forVersion, REVISION } from './rev2025-11-25/index.ts';

/**
 * The message as a session of 2025-11-25 or earlier may see it.
 * @param version of the session, as far as it is known; an answer to `initialize` names its own
 * @param offer what the first draft says of the server's tasks; `undefined` where that is not spoken
 * @returns `undefined` for a message that must not leave at all
 */
export function forSession(message: unknown, version: string | undefined, offer: Offer | undefined): unknown {
  const plain = forVersion(message, version);
  if (offer === undefined || (agreedVersion(message) ?? version) === REVISION) return plain;
  return withOffer(plain, offer);
}
