import type { JsonValue } from '../../core/index.ts';

/** What an operation is known by: the URLs that its start told of. Nothing in it is secret but what a service puts into URLs. */
export type HttpRef = {
  /** When its start was answered, or it was found, in milliseconds since the Unix epoch. */
  at?: number;
  /** Absent: the start told nothing, and it is looked for by its key. */
  status?: string;
  cancel?: string;
  /** Where the result may be, as far as the start told, by the place of the source in `status.result`. */
  results?: { [place: string]: string };
  /** What the service calls it in its webhooks. */
  id?: string;
  /** Of one that has to be looked for: what it was started with, since URLs may be made of that. */
  input?: JsonValue;
};
