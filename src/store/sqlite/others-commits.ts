import type Database from 'better-sqlite3';

/** Whether another connection has committed since this was asked the last time. Commits of this one do not count. */
export function othersCommits(db: Database.Database): () => boolean {
  const version = db.prepare('pragma data_version').pluck();
  let seen = version.get();
  return () => {
    const before = seen;
    seen = version.get();
    return seen !== before;
  };
}
