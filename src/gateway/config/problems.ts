/** What is wrong at one place of a configuration file. */
export interface ConfigProblem {
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
  /** As `upstreams.github.tools["read_*"].mode`; empty: the file itself. */
  field: string;
  /** What was expected and what was got, without any value that may be secret. */
  message: string;
}

/** Nobody reads on from here. */
const MOST_TOLD = 100;

/** A configuration file that cannot be used. The message tells every problem, a line each; of very many, the first. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly file: string;
  readonly problems: readonly ConfigProblem[];

  constructor(file: string, problems: readonly ConfigProblem[]) {
    const lines = problems.slice(0, MOST_TOLD).map((problem) => oneLine(file, problem));
    const rest = problems.length - lines.length;
    super([...lines, ...(rest > 0 ? [`${file}: and ${rest} more`] : [])].join('\n'));
    this.file = file;
    this.problems = problems;
  }
}

function oneLine(file: string, { line, column, field, message }: ConfigProblem): string {
  return `${file}:${line}:${column}: ${field === '' ? '' : `${field}: `}${message}`;
}

/** The best of `known` for a word that is none of them, when it can only be a slip of the pen. */
export function closest(word: string, known: readonly string[]): string | undefined {
  const most = word.length < 4 ? 1 : 2;
  const from = word.toLowerCase().slice(0, LONGEST);
  const ranked = known
    .map((candidate) => ({ candidate, distance: distance(from, candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= most && best.distance < best.candidate.length
    ? best.candidate
    : undefined;
}

const LONGEST = 40;

/** Levenshtein's. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j += 1) {
      const changed = (row[j] ?? 0) + (letter === to[j] ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
