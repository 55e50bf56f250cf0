import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Chance } from './chance.ts';
import { Connections, type StatementPlant } from './connections.ts';

/** Where the files of a run are put, and what an empty one looks like. */
export interface Ground {
  folder: string;
  template: string;
}

/** The SQLite file of a run, as somebody sees it who is none of the processes: looks into it, locks it, cuts its power. */
export class DatabaseFile {
  readonly connections: Connections;
  readonly #paths: string[] = [];
  #db: Database.Database;
  #hog: Database.Database | undefined;

  constructor(ground: Ground, name: string, chance: Chance, plant: StatementPlant | undefined) {
    const path = join(ground.folder, `${name}.db`);
    copyFileSync(ground.template, path);
    this.connections = new Connections(path, chance, plant);
    this.#db = this.#open();
  }

  rows<Row>(sql: string): Row[] {
    return this.#db.prepare(sql).all() as Row[];
  }

  /** Whether another program holds the write lock. */
  get hogged(): boolean {
    return this.#hog !== undefined;
  }

  hog(): void {
    this.#hog = new Database(this.connections.path, { timeout: 0 });
    this.#hog.exec('begin immediate');
  }

  unhog(): void {
    this.#hog?.close();
    this.#hog = undefined;
  }

  /** Goes on with what was flushed, and with what of the rest happened to reach the disk. */
  cutPower(): void {
    this.unhog();
    const before = this.#db; // Closed after the cut: whoever closes the last connection tidies up the log.
    this.connections.cutPower();
    before.close();
    this.#db = this.#open();
  }

  remove(): void {
    this.unhog();
    this.#db.close();
    for (const path of this.#paths) {
      for (const suffix of ['', '-wal', '-shm', '.bell']) rmSync(`${path}${suffix}`, { force: true });
      rmSync(`${path}.workers`, { recursive: true, force: true });
    }
  }

  #open(): Database.Database {
    const { path } = this.connections;
    this.#paths.push(path);
    const db = new Database(path, { timeout: 0 });
    db.pragma('wal_autocheckpoint = 0');
    db.prepare('select count(*) from tasks').get(); // Opens the log too, so that nobody else is its last user.
    return db;
  }
}
