import Database from 'better-sqlite3';
import { expect, it } from 'vitest';

// CI repeats the tests on a second Node. A native module of the first one, or a test runner started by it, would make
// that repetition worth nothing, so the leg says which ABI it means.
it.skipIf(process.env.EXPECT_NODE_ABI === undefined)('runs on the Node that was asked for', () => {
  expect(process.versions.modules).toBe(process.env.EXPECT_NODE_ABI);
});

it('has a SQLite that was built for this Node', () => {
  const db = new Database(':memory:');
  expect(db.pragma('user_version', { simple: true })).toBe(0);
  db.close();
});
