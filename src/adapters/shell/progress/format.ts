import type { Tally } from './tally.ts';

/** A line as a format looks at it. */
export interface Line {
  /** As it is seen: without colours, without the white space before and after it. */
  text: string;
  /** How much white space was before it. */
  indent: number;
  stream: 'stdout' | 'stderr';
}

/** How one kind of program tells how far it is. */
export interface Format {
  readonly name: string;
  /** Characters its lines can begin with; others are not shown to it. */
  readonly begins: string;
  /** While a run of it is on, it wants every line, whatever it begins with. */
  readonly anyLine?: boolean;
  /**
   * `unknown`: nothing was seen that can only be it. `running`: a run was seen to begin and not to end; lines that look like other
   * formats are the output of its tests. `settled`: that run is over. `loose`: it is believed, and ends without saying so.
   */
  readonly state: 'unknown' | 'running' | 'settled' | 'loose';
  readonly tally: Tally;
  /** One of what `tally` counts, in a word, where that is no test. */
  readonly unit?: string | undefined;
  read(line: Line): void;
  /** Two empty lines and a line of two spaces: how a report begins that has no headline. */
  opening?(): void;
}
