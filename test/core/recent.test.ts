import { describe, expect, it } from 'vitest';
import { Recent } from '../../src/core/index.ts';

describe('Recent', () => {
  it('forgets what was set longest ago, once there is more than it may keep', () => {
    const recent = new Recent<string, number>(2);
    recent.set('a', 1).set('b', 2).set('c', 3);
    expect([...recent]).toEqual([
      ['b', 2],
      ['c', 3],
    ]);
  });

  it('keeps what is set again, and counts it once', () => {
    const recent = new Recent<string, number>(2);
    recent.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
    expect([...recent]).toEqual([
      ['a', 3],
      ['c', 4],
    ]);
  });

  it('forgets nothing for being read', () => {
    const recent = new Recent<string, number>(1);
    recent.set('a', 1);
    expect([recent.get('a'), recent.has('b'), recent.size]).toEqual([1, false, 1]);
  });
});
