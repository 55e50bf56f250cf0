import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toolNames } from '../../../src/client/agents/tool-names.ts';

const taken = new Set(['background_list', 'background_cancel']);
const name = fc.oneof(
  fc.constantFrom('build', 'b.uild', 'b/uild', 'background_list', 'ci__build', 'x'.repeat(90)),
  fc.string({ minLength: 1 }),
);
const tools = fc.uniqueArray(
  fc.record({ server: fc.oneof(fc.constantFrom('ci', 'c i', 'ci__build'), name), tool: name }),
  {
    selector: ({ server, tool }) => JSON.stringify([server, tool]),
  },
);

it('names of tools fit every model, are each of one tool, and do not depend on the order', () => {
  fc.assert(
    fc.property(tools, fc.constantFrom('clash' as const, 'always' as const), (listed, prefix) => {
      const names = toolNames(listed, { taken, prefix });
      expect(names.filter((one) => !/^[a-zA-Z0-9_-]{1,64}$/.test(one) || taken.has(one))).toEqual([]);
      expect(new Set(names).size).toBe(listed.length);
      expect(toolNames([...listed].reverse(), { taken, prefix }).reverse()).toEqual(names);
    }),
    { numRuns: 2_000 },
  );
});

it('a tool that is called as another one was renamed does not take its place', () => {
  const honest = [
    { server: 'ci', tool: 'b.uild' },
    { server: 'ci', tool: 'b/uild' },
  ];
  const [renamed = ''] = toolNames(honest, { taken, prefix: 'clash' });
  const names = toolNames([...honest, { server: 'odd', tool: renamed }], { taken, prefix: 'clash' });
  expect(new Set(names).size).toBe(3);
  expect(names[0]).toBe(renamed);
});
