import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { Kysely, Migrator, SqliteDialect } from 'kysely';
import { type Logger, StoreRefusedError } from '../../core/index.ts';
import { MIN_WRITER, migrations, SCHEMA_VERSION } from '../sql/migrations.ts';
import { isBusy } from './errors.ts';
import { assertOwn } from './ownership.ts';
import { MAX_WAL_BYTES } from './write-ahead-log.ts';

/** "LCDB": tells our files from other SQLite databases. */
export const APPLICATION_ID = 0x4c434442;
/** How long opening waits for another process that is opening, or migrating, the same file. */
const OPEN_PATIENCE_MS = 10_000;

/** File systems on which SQLite's shared memory does not work between machines, by `statfs` magic number. */
const NETWORK_FILE_SYSTEMS = new Map<number, string>([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB2'],
  [0xff534d42, 'CIFS'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x01021997, '9p'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
]);

/** The name of the network file system that `type` stands for, if it is one we know. */
export function networkFileSystem(type: number): string | undefined {
  return NETWORK_FILE_SYSTEMS.get(type >>> 0);
}

/** What distinguishes one kind of file of ours from another. */
export interface FileKind {
  /** SQLite's `application_id`: tells the kind from every other database. */
  applicationId: number;
  /** Brings the schema up to date; runs again from its start when another process is in the way. */
  migrate(db: Database.Database, file: string): void | Promise<void>;
}

/**
 * Opens the database file of a task store, creates it if there is none, and brings its schema up to date.
 * @throws {StoreRefusedError} when the file must not be touched, saying why and what to do.
 */
export function openDatabase(path: string, logger: Logger): Promise<Database.Database> {
  return openFile(path, { applicationId: APPLICATION_ID, migrate: (db, file) => migrate(db, file, logger) });
}

/**
 * Opens a file of a kind of ours: private, on this machine, in WAL mode, every commit flushed.
 * @throws {StoreRefusedError} when the file must not be touched, saying why and what to do.
 */
export async function openFile(path: string, kind: FileKind): Promise<Database.Database> {
  const memory = path === ':memory:';
  const file = memory ? path : resolve(path);
  if (!memory) preparePlace(file);
  const db = connect(file);
  try {
    await patiently(() => configure(db, file, kind.applicationId));
    await patiently(() => kind.migrate(db, file));
  } catch (error) {
    db.close();
    throw refusal(file, error);
  }
  return db;
}

/** The folder exists and is on this machine, and the file is there and private before SQLite writes to it. */
function preparePlace(file: string): void {
  const folder = dirname(file);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const network = networkFileSystem(statfsSync(folder).type);
    if (network !== undefined) {
      throw new StoreRefusedError(
        `${file} is on a network file system (${network}), where SQLite loses data; put it on a local disk`,
      );
    }
    assertOwn(file);
    const isNew = !existsSync(file);
    closeSync(openSync(file, 'a+', 0o600)); // SQLite gives its side files the mode of the main file.
    if (isNew) chmodSync(file, 0o600);
  } catch (error) {
    throw refusal(file, error);
  }
}

function connect(file: string): Database.Database {
  try {
    return new Database(file, { timeout: 0 });
  } catch (error) {
    throw refusal(file, error);
  }
}

function configure(db: Database.Database, file: string, wanted: number): void {
  const applicationId = db.pragma('application_id', { simple: true }) as number;
  const isEmpty = db.prepare('select 1 from sqlite_master limit 1').get() === undefined;
  if (!isEmpty && applicationId !== wanted) {
    throw new StoreRefusedError(`${file} is a SQLite database of another program; choose another path`);
  }
  if (isEmpty) db.pragma('auto_vacuum = INCREMENTAL'); // Later it has no effect, but writes to the file.
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL'); // The library's default for WAL does not flush.
  db.pragma(`journal_size_limit = ${MAX_WAL_BYTES}`);
  db.pragma('temp_store = MEMORY');
  if (applicationId !== wanted) db.pragma(`application_id = ${wanted}`);
}

async function migrate(db: Database.Database, file: string, logger: Logger): Promise<void> {
  const found = schemaOf(db);
  if (found?.schema === SCHEMA_VERSION) return;
  if (found !== undefined && found.schema > SCHEMA_VERSION) {
    if (found.minWriter <= SCHEMA_VERSION) return; // A neighbouring release that promises to live with us.
    throw new StoreRefusedError(
      `${file} was written by a newer release of longcall (schema ${found.schema}, this release writes ` +
        `${SCHEMA_VERSION}); update longcall, or open another file`,
    );
  }
  // The lock is taken before anything is looked at again, so that two processes that start together migrate once.
  db.exec('begin immediate');
  try {
    if (schemaOf(db)?.schema !== SCHEMA_VERSION) {
      // Never destroyed: that would close the connection it was lent.
      const kysely = new Kysely<unknown>({ dialect: new SqliteDialect({ database: db }) });
      const { error } = await new Migrator({ db: kysely, provider: migrations }).migrateToLatest();
      if (error !== undefined) throw error;
      logger.debug({ schema: SCHEMA_VERSION, minWriter: MIN_WRITER }, 'brought the task store up to date');
    }
    db.exec('commit');
  } catch (error) {
    if (db.inTransaction) db.exec('rollback');
    throw error;
  }
}

export function schemaOf(db: Database.Database): { schema: number; minWriter: number } | undefined {
  const table = db.prepare("select 1 from sqlite_master where type = 'table' and name = 'meta'").get();
  if (table === undefined) return undefined;
  const rows = db.prepare('select key, value from meta').all() as { key: string; value: string }[];
  const meta = new Map(rows.map(({ key, value }) => [key, Number(value)]));
  return { schema: meta.get('schema') ?? 0, minWriter: meta.get('min_writer') ?? Number.POSITIVE_INFINITY };
}

/** Waits for a lock that another process holds while it opens the same file. */
export async function patiently<Result>(action: () => Result | Promise<Result>): Promise<Result> {
  const until = performance.now() + OPEN_PATIENCE_MS;
  for (;;) {
    try {
      return await action();
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

export function refusal(file: string, error: unknown): unknown {
  if (error instanceof StoreRefusedError) return error;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const why = (text: string) => new StoreRefusedError(text, { cause: error });
  switch (code) {
    case 'SQLITE_NOTADB':
      return why(`${file} is not a SQLite database (or is encrypted); choose another path`);
    case 'SQLITE_CORRUPT':
      return why(`${file} is damaged; restore a backup, or move the file away to start afresh`);
    case 'SQLITE_READONLY':
    case 'SQLITE_READONLY_DIRECTORY':
    case 'EACCES':
    case 'EROFS':
    case 'EPERM':
      return why(`${file} cannot be written; check the permissions of the file and its folder`);
    case 'EISDIR':
    case 'SQLITE_CANTOPEN_ISDIR':
      return why(`${file} is a folder; name a file`);
    default:
      return why(`${file} cannot be opened: ${(error as Error).message}`);
  }
}
