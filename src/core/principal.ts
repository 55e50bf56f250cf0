/**
 * Whom a task belongs to. Taken from the auth context, never from a session or a client id: a session ends with a
 * restart, and a client id is shared by everybody who uses that client.
 */
export interface Principal {
  tenant?: string;
  subject: string;
}

/** The same for the same principal, and for no two others: under it is kept in memory what belongs to each. */
export function principalKey({ tenant = '', subject }: Principal): string {
  return JSON.stringify([tenant, subject]);
}

/** The one owner of everything reached over stdio, or over loopback without authentication. */
export const LOCAL_PRINCIPAL: Principal = { subject: 'local' };

/** Callers of a listener that is open to the network without authentication. Their task ids are their only key. */
export const ANONYMOUS_PRINCIPAL: Principal = { subject: 'anonymous' };

/** Whether all there is to tell this caller from others is what it knows. */
export function isAnonymous({ subject }: Principal): boolean {
  return subject === ANONYMOUS_PRINCIPAL.subject;
}
