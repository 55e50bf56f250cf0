export type { EncryptionKeys, EncryptionOptions } from './encryption.ts';
export type * from './operator-store.ts';
export { readPrivateFile } from './private-file.ts';
export { existingSqliteStore } from './sqlite/existing.ts';
export { type SqliteStoreOptions, sqliteStore } from './sqlite/sqlite-store.ts';
export type * from './store.ts';
