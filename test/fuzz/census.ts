// What a server holds in memory for those it serves. It keeps its parts to itself, so they are noted where they are used.
import { Watchers } from '../../src/engine/watchers.ts';
import { Followers } from '../../src/server/followers.ts';
import { InFlight } from '../../src/server/in-flight.ts';
import { ListenDesk } from '../../src/server/listen-desk.ts';
import { QuestionDesk } from '../../src/server/questions.ts';
import { Relay } from '../../src/server/relay.ts';
import { Driver } from '../../src/store/sqlite/driver.ts';
import { Outbox } from '../../src/wire/outbox.ts';

interface Counted {
  what: string;
  prototype: object;
  /** The methods by which something is put there. */
  by: readonly string[];
  /** Goes away with the requests, rather than with the server. */
  perRequest: boolean;
}

const counted: readonly Counted[] = [
  { what: 'requests in flight', prototype: InFlight.prototype, by: ['watch', 'outlives'], perRequest: true },
  { what: 'questions of own tools', prototype: Relay.prototype, by: ['join'], perRequest: true },
  { what: 'stand-ins for answers', prototype: Outbox.prototype, by: ['standIn'], perRequest: true },
  { what: 'watches of tasks', prototype: Watchers.prototype, by: ['watch'], perRequest: true },
  { what: 'streams that wait for questions', prototype: QuestionDesk.prototype, by: ['attend'], perRequest: true },
  { what: 'callers with subscriptions', prototype: ListenDesk.prototype, by: ['open'], perRequest: true },
  { what: 'sessions that are remembered', prototype: Followers.prototype, by: ['follow', 'open'], perRequest: false },
];

/** Whatever a spy needs to replace a method of a class. */
type Methods = Record<string, (...args: unknown[]) => unknown>;

/** Counts what is held. One for a process: it looks at the classes themselves. */
export class Census {
  /** Statements that reached the database since it was emptied. */
  readonly statements: string[] = [];
  readonly #seen = new Map<Counted, Set<{ readonly size: number }>>();

  /** @returns the function that undoes it */
  install(): () => void {
    const undo = counted.flatMap((entry) => {
      const seen = new Set<{ readonly size: number }>();
      this.#seen.set(entry, seen);
      return entry.by.map((name) => before(entry.prototype as Methods, name, (self) => void seen.add(self as never)));
    });
    const { statements } = this;
    undo.push(
      before(Driver.prototype as unknown as Methods, 'execute', (_self, op) => {
        statements.push((op as { statement: { sql: string } }).statement.sql);
      }),
    );
    return () => {
      for (const one of undo) one();
    };
  }

  /** Another world begins. */
  clear(): void {
    for (const seen of this.#seen.values()) seen.clear();
    this.statements.length = 0;
  }

  /** What is still held, in words; nothing when all is as it should be. */
  left({ closed }: { closed: boolean }): string[] {
    return [...this.#seen].flatMap(([{ what, perRequest }, seen]) => {
      const held = [...seen].reduce((sum, { size }) => sum + size, 0);
      return held > 0 && (closed || perRequest) ? [`${held} ${what}`] : [];
    });
  }
}

function before(prototype: Methods, name: string, note: (self: unknown, ...args: unknown[]) => void): () => void {
  const original = prototype[name] as Methods[string];
  prototype[name] = function noted(this: unknown, ...args: unknown[]) {
    note(this, ...args);
    return original.apply(this, args);
  };
  return () => {
    prototype[name] = original;
  };
}
