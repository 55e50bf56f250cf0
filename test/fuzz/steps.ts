// What happens in an episode, as data: made by a plan from a seed, or read from a saved case.

/** Who speaks: a name is the subject of a verified token; `local` brings none; `nobody`'s token says not whose it is. */
export type Who = 'ada' | 'bob' | 'local' | 'nobody';

/** One message. Header values and body are templates. */
export interface Send {
  do: 'send';
  as: Who;
  method: string;
  headers: Record<string, string>;
  body?: string;
  /** The body is bytes, each written as the character of its number. */
  binary?: true;
}

/** Messages that are sent before any of them is answered. */
export interface Burst {
  do: 'burst';
  sends: Send[];
}

/**
 * The same message twice by the same sender: once `{{foreign}}` stands for what belongs to somebody else (or is gone), once
 * for what never was. Whatever can be seen of the two has to be the same.
 */
export interface Twin {
  do: 'twin';
  send: Send;
  /** A template; what never was has its form. */
  foreign: string;
  /** How often it is sent, all at once. @default once */
  times?: number;
  /** What its owner does to the foreign task meanwhile. */
  meanwhile?: 'cancel';
  unknownFirst?: true;
}

/** Time passes. */
export interface Pass {
  do: 'pass';
  ms: number;
}

/** A client goes away from a request that is not answered yet, the one opened `which` before the latest. */
export interface Leave {
  do: 'leave';
  which: number;
}

/** Bytes on a connection of their own, piece by piece. */
export interface Raw {
  do: 'raw';
  /** Templates of bytes, each written as the character of its number. */
  chunks: string[];
  /** What the client does then. */
  afterwards: 'wait' | 'cut' | 'half-close';
}

export type Step = Send | Burst | Twin | Pass | Leave | Raw;

/** How many messages these steps send. */
export function messagesOf(steps: readonly Step[]): number {
  return steps.reduce((sum, step) => sum + messagesIn(step), 0);
}

/** How many messages a step sends. */
export function messagesIn(step: Step): number {
  switch (step.do) {
    case 'send':
    case 'raw':
      return 1;
    case 'burst':
      return step.sends.length;
    case 'twin':
      return 2 * (step.times ?? 1);
    default:
      return 0;
  }
}
