import { type Principal, principalKey, Recent } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { decodeSession, type Session } from '../wire/rev2025-11-25/index.ts';
import type { Seal } from '../wire/seal.ts';
import { sealOf } from './seals.ts';

/** So many sessions are remembered as they were opened; any other is opened again. */
const MAX_KNOWN = 1_000;

const known = new WeakMap<Seal, Recent<string, Session>>();

/** The session an id stands for. Each of its requests brings the id along, and opening one takes as long as a poll. */
export async function openSession(tasks: Tasks, id: string, principal: Principal): Promise<Session | undefined> {
  const seal = await sealOf(tasks);
  let sessions = known.get(seal);
  if (sessions === undefined) {
    sessions = new Recent(MAX_KNOWN);
    known.set(seal, sessions);
  }
  const key = `${principalKey(principal)} ${id}`;
  const found = sessions.get(key);
  if (found !== undefined) return found;
  const session = decodeSession(id, principal, seal);
  if (session === undefined) return undefined;
  sessions.set(key, session);
  return session;
}
