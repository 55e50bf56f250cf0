import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Chance } from './chance.ts';
import { currentOwner, type Owner } from './event-loop.ts';

/** What a simulation may do to the statements of the code under test. */
export interface StatementPlant {
  /** SQL as it is compiled, on its way to SQLite. */
  sql?(text: string): string;
  pragma?(text: string): string;
  exec?(text: string): string;
}

/** How the disk of a process behaves. `flaky` fails some commits, `full` all that write. */
export type Disk = 'fine' | 'flaky' | 'full';

/** An owner whose connections are watched. */
export interface ConnectionOwner extends Owner {
  readonly connections: Connections;
  readonly disk: Disk;
}

interface Connection {
  owner: ConnectionOwner;
  writing: boolean;
  flushes: boolean;
}

const { prepare, pragma, exec } = Database.prototype;
const original = { prepare, pragma, exec };

/**
 * The one SQLite file of a run and the connections that simulated processes have to it: a seam below the store, at
 * better-sqlite3. It closes what a dead process held open, makes commits fail, and knows which bytes were flushed.
 */
export class Connections {
  /** Where the file is now; a power cut moves on to another. */
  path: string;
  readonly #chance: Chance;
  readonly #plant: StatementPlant | undefined;
  readonly #open = new Map<Database.Database, Connection>();
  /** Lengths of the write-ahead log at which it was whole: the last flushed one first, then unflushed commits. */
  #boundaries: number[] = [0];
  #cuts = 0;

  constructor(path: string, chance: Chance, plant: StatementPlant | undefined) {
    this.path = path;
    this.#chance = chance;
    this.#plant = plant;
  }

  /** As the operating system does when a process ends. */
  closeAll(owner: Owner): void {
    for (const [db] of this.#of(owner)) {
      this.#open.delete(db);
      if (db.open) db.close();
    }
  }

  /** What is left after the power went: everything flushed, and of the rest what happened to reach the disk. */
  cutPower(): void {
    const kept = this.#chance.pick(this.#boundaries);
    this.#cuts += 1;
    const next = this.path.replace(/(-cut\d+)?\.db$/, `-cut${this.#cuts}.db`);
    copyFileSync(this.path, next);
    writeFileSync(`${next}-wal`, readFileSync(`${this.path}-wal`).subarray(0, kept));
    this.path = next;
    this.#boundaries = [kept];
  }

  adopt(db: Database.Database, owner: ConnectionOwner): void {
    if (this.#open.has(db)) return;
    this.#open.set(db, { owner, writing: false, flushes: true });
    if (db.name !== this.path) return;
    // A checkpoint would start the log afresh, and flushed bytes could no longer be told by its length.
    original.pragma.call(db, 'wal_autocheckpoint = 0');
  }

  pragma(db: Database.Database, text: string): string {
    const planted = this.#plant?.pragma?.(text) ?? text;
    const connection = this.#open.get(db);
    const synchronous = /^synchronous\s*=\s*(\w+)/i.exec(planted)?.[1];
    if (connection !== undefined && synchronous !== undefined) connection.flushes = synchronous === 'FULL';
    return planted;
  }

  exec(text: string): string {
    return this.#plant?.exec?.(text) ?? text;
  }

  prepare(db: Database.Database, text: string): Database.Statement {
    const statement = original.prepare.call(db, this.#plant?.sql?.(text) ?? text) as Database.Statement;
    const connection = this.#open.get(db);
    if (connection === undefined || db.name !== this.path) return statement;
    const run = statement.run.bind(statement);
    if (/^begin immediate/i.test(text)) {
      statement.run = () => {
        const result = run();
        connection.writing = true;
        return result;
      };
    } else if (/^commit/i.test(text)) {
      statement.run = () => {
        if (connection.writing) this.#mayFail(connection, db);
        const result = run();
        if (connection.writing) this.#committed(connection);
        connection.writing = false;
        return result;
      };
    } else if (/^rollback/i.test(text)) {
      statement.run = () => {
        connection.writing = false;
        return run();
      };
    }
    return statement;
  }

  #mayFail(connection: Connection, db: Database.Database): void {
    const { disk } = connection.owner;
    if (disk === 'fine' || (disk === 'flaky' && this.#chance.odds(0.6))) return;
    // SQLite rolls back by itself on some of these errors, and leaves it to us on others.
    if (this.#chance.odds(0.5)) {
      connection.writing = false;
      original.exec.call(db, 'rollback');
    }
    throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
  }

  #committed(connection: Connection): void {
    const length = statSync(`${this.path}-wal`).size;
    if (length === this.#boundaries.at(-1)) return; // Nothing was written, so nothing was flushed either.
    if (connection.flushes) this.#boundaries = [length];
    else this.#boundaries.push(length);
  }

  #of(owner: Owner): [Database.Database, Connection][] {
    return [...this.#open].filter(([, connection]) => connection.owner === owner);
  }
}

/** Watches every connection that a simulated process opens. Returns the function that stops it. */
export function watchConnections(): () => void {
  const watched = (db: Database.Database): Connections | undefined => {
    const owner = currentOwner() as ConnectionOwner | undefined;
    owner?.connections.adopt(db, owner);
    return owner?.connections;
  };
  const { prototype } = Database;
  prototype.prepare = function prepare(this: Database.Database, text: string) {
    return watched(this)?.prepare(this, text) ?? original.prepare.call(this, text);
  } as typeof prototype.prepare;
  prototype.pragma = function pragma(this: Database.Database, text: string, options?: Database.PragmaOptions) {
    return original.pragma.call(this, watched(this)?.pragma(this, text) ?? text, options);
  };
  prototype.exec = function execute(this: Database.Database, text: string) {
    return original.exec.call(this, watched(this)?.exec(text) ?? text);
  } as typeof prototype.exec;
  return () => Object.assign(prototype, original);
}
