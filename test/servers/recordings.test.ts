// What servers we did not write said, for whatever is to read such answers: that it is all there, and how well it fits.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadRecording, type Segment } from '../hosts/recording.ts';
import type { Json } from '../support/messages.ts';
import { createWireValidator } from '../support/wire-validator.ts';

const folder = join(import.meta.dirname, 'recordings');

/** Each task that was asked for, and the states it was seen in. */
function tasksIn(segments: readonly Segment[]): Record<string, string[]> {
  const seen: Record<string, string[]> = {};
  for (const { title, lines } of segments) {
    const statuses = lines.flatMap((line) => {
      const result = line.kind === 'message' && line.from === 'server' ? (line.message?.['result'] as Json) : undefined;
      return typeof result?.['status'] === 'string' ? [result['status']] : [];
    });
    const changes = statuses.filter((status, index) => status !== statuses[index - 1]);
    if (changes.length > 0) seen[title] = changes;
  }
  return seen;
}

describe.each(['stdio', 'http'] as const)('fastmcp-tasks over %s', (transport) => {
  const { segments } = loadRecording(`fastmcp-tasks.${transport}`, folder);

  it('was recorded with tasks that go every way they can', () => {
    expect(tasksIn(segments)).toMatchObject({
      'completed: progress on the way, and the result twice': ['working', 'completed'],
      'reported: the tool ran, and says that it failed': ['working', 'completed'],
      'broken: an error of the tool': ['working', 'completed'],
      'failed: a JSON-RPC error': ['working', 'failed'],
      'input: a question, accepted': ['working', 'input_required', 'completed'],
      'input: a question, declined': ['working', 'input_required', 'completed'],
      'cancelled: while it works, and once more': ['working', 'cancelled'],
    });
  });

  it('said nothing that the schemas forbid, and wrote UTC as +00:00', () => {
    const validator = createWireValidator();
    const wire = validator.connection();
    for (const line of segments.flatMap(({ lines }) => lines)) {
      if (line.kind !== 'message') continue;
      if (line.from === 'host') wire.observeRequest(line.message);
      else check(() => wire.checkOutgoing(line.message));
    }
    expect(validator.checked).toBeGreaterThan(30);
    const problems = new Set(validator.violations.map(({ path, reason }) => `${path}: ${reason}`));
    expect([...problems].sort()).toEqual([
      '/result/createdAt: must be an ISO 8601 timestamp in UTC',
      '/result/lastUpdatedAt: must be an ISO 8601 timestamp in UTC',
    ]);
  });
});

/** The validator throws what it also keeps. */
function check(look: () => void): void {
  try {
    look();
  } catch {}
}
