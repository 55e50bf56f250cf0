/** What a figure found: one value per run, all runs alike. */
export interface Measured {
  values: number[];
  /** What the values are compared with, where only the measurement can tell. */
  against?: string;
  /** The sides of a ratio in their own units, for the table. */
  detail?: string;
}

/** One number the project watches. A new one is a file in `figures` and a line in `main.ts`. */
export interface Figure {
  name: string;
  unit: string;
  aim: number;
  better: 'lower' | 'higher';
  /** What the value is compared with. */
  against: string;
  /** Takes so long that it runs only where it is named, or with `--long`. */
  long?: boolean;
  measure(bench: Bench): Promise<Measured>;
}

/** What a measurement may use. */
export interface Bench {
  /** An empty folder on the disk the project is on; gone when the bench ends. */
  folder(): string;
  /** How long a soak lasts. */
  minutes: number;
  /** Tells whoever waits how far the measurement is. */
  progress(text: string): void;
}

/** A figure as `--json` prints it. */
export interface Report extends Omit<Figure, 'measure' | 'long'> {
  /** The median of the runs. */
  value: number;
  runs: number;
}
