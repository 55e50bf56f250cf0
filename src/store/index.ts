export type * from './operator-store.ts';
export { sqliteStore } from './sqlite/sqlite-store.ts';
export type * from './store.ts';
