/** What a finding breaks: the name of an oracle. Those about leaks are counted apart. */
export type Broken =
  | 'hang'
  | 'failed'
  | 'answer'
  | 'status'
  | 'schema'
  | 'internal error'
  | 'private text'
  | 'log'
  | 'process'
  | 'store'
  | 'foreign'
  | 'held'
  | 'memory';

export interface Finding {
  broken: Broken;
  sentence: string;
  /** Which step of the episode it was seen after. */
  step: number;
}

const LEAKS: ReadonlySet<Broken> = new Set(['foreign', 'held', 'memory', 'private text']);

/** Something gets out that should not, or does not go away. */
export function isLeak({ broken }: Finding): boolean {
  return LEAKS.has(broken);
}
