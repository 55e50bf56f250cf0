import { describe, it } from 'vitest';
import { adapterSuite } from '../../src/testing/index.ts';
import { mcpHarness } from './mcp-harness.ts';

// What of the contract says nothing of tools of MCP servers is skipped with the reason.
for (const protocol of ['2026-07-28', '2025-11-25', '2025-06-18']) {
  const harness = mcpHarness(protocol);
  const { cases, notApplicable } = await adapterSuite(harness);
  describe(`a tool of a server of ${protocol}`, () => {
    it.each(cases)('$name', ({ run }) => run(harness));
    it.skip.each(notApplicable)('$name (not applicable: $why)', () => {});
  });
}
