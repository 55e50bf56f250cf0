/**
 * How a command is made of the input of a call. What is written stays where it stands, word for word; the input only fills the
 * places that are left for it. No shell reads any of it.
 */
export interface CommandRecipe {
  /** The program: never up to the input. */
  file: string;
  args: readonly WordPart[];
  /** Put `--` before the first value that stands alone, unless one is written before it. @default true */
  endOfOptions?: boolean;
  cwd?: string;
  /** All that the command gets of an environment: what is written, and what the input fills in. */
  env: Readonly<Record<string, string | InputPart>>;
  /** What the command reads on stdin, however large. A text as it is, anything else as JSON. @default nothing */
  stdin?: InputPart;
}

/** A value of the input, by the name of its property. */
export interface InputPart {
  input: string;
}

/** A place in a command: a word as it is written, or what a property of the input becomes. What is absent or null becomes nothing. */
export type WordPart = string | PositionalPart | FlagPart | OptionPart;

/** A text or a number: a word. A list of them: a word each. */
export interface PositionalPart extends InputPart {
  /** A value may begin with `-`. @default false: it is refused, since it could be read as an option */
  dash?: boolean;
}

/** `true`: the flag, as it is written. */
export interface FlagPart extends InputPart {
  flag: string;
}

/** The option and the value: two words. A list: that for each of its items. */
export interface OptionPart extends InputPart {
  option: string;
  /** What joins the two into one word, as in `--name=value`. @default two words */
  join?: string;
  /** A value that is a word of its own may begin with `-`. @default false */
  dash?: boolean;
}

/** Whether its values stand alone, where `-` would make an option of one. */
export function isPositional(part: WordPart): boolean {
  return typeof part !== 'string' && !('flag' in part) && !('option' in part);
}
