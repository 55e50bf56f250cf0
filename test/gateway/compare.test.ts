import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clientKinds } from './support/clients.ts';
import { compare, type Step } from './support/compare.ts';
import { between } from './support/normalisations.ts';
import { everything, type Subject, subjects } from './support/subjects.ts';

// The harness that the gateway is compared by, held to what it must do: find nothing between two ways to one server, and
// everything that somebody in between changes.

async function compared(subject: Subject, kind: (typeof clientKinds)[number], lie?: string) {
  const [one, other] = await subject.places();
  const reach = other.reach;
  if (lie !== undefined && 'command' in reach) {
    reach.args = [join(import.meta.dirname, 'fixtures', 'lying-proxy.mjs'), lie, reach.command, ...reach.args];
    reach.command = process.execPath;
  }
  return compare({
    ...{ kind, direct: one, through: other },
    steps: (folder) => subject.steps(folder).filter((step) => lie === undefined || !isSlow(step)),
    normalisations: between,
  });
}

/** Lies are about what comes at once. */
function isSlow(step: Step): boolean {
  return 'call' in step && /async|research|long/.test(step.call);
}

describe.each(subjects)('$name asked twice', { timeout: 120_000 }, (subject) => {
  it.each(clientKinds)('gives the same answers to $name, for all its tools', async (kind) => {
    const { differences, answers, uncalled } = await compared(subject, kind);
    expect(differences).toEqual([]);
    expect(uncalled).toEqual([]);
    expect(answers).toBeGreaterThan(15);
  });
});

describe('somebody in between is found out', { timeout: 120_000 }, () => {
  it.each([
    ['drops-tool', ['tools/list']],
    ['renames-title', ['tools/list']],
    ['drops-annotations', ['tools/list']],
    ['changes-text', [expect.stringContaining('"call":"echo"')]],
    ['drops-structured', [expect.stringContaining('"call":"get-structured-content"')]],
    ['hides-error', [expect.stringContaining('"call":"echo","args":{}')]],
    ['changes-code', [expect.stringContaining('no/such/resource')]],
    ['drops-mime-type', ['resources/templates/list']],
    ['drops-instructions', ['instructions']],
    ['changes-completion', [expect.stringContaining('"complete"')]],
  ])('who %s', async (lie, what) => {
    const { differences } = await compared(everything, clientKinds[3]!, lie);
    const found = differences.map((difference) => difference.what);
    for (const expected of what) expect(found).toContainEqual(expected);
  });
});
