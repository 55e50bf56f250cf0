import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayConfig, UpstreamConfig } from '../../../src/gateway/config/types.ts';
import { openGateway } from '../../../src/gateway/gateway.ts';
import { scratchFolder, silent } from '../../support/stores.ts';
import { type ClientKind, clientKinds, type Reach } from '../support/clients.ts';
import { type Compared, compare } from '../support/compare.ts';
import { askedByTasks, behindGateway, between } from '../support/normalisations.ts';
import type { Place, Subject } from '../support/subjects.ts';

// Every tool, resource, template, prompt and completion of servers that we did not write, asked directly and through the gateway,
// by official clients of every generation of tasks and of none. All calls become tasks, for those who know them.

/** Who knows all that a server does only for clients with tasks. */
const withTasks = clientKinds.find(({ name }) => name === 'sdk v1 on 2025-11-25 with tasks') as ClientKind;
const PREFIX = 'up_';

function stateFolder(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return join(folder.path, 'state');
}

function configFor({ reach }: Place): GatewayConfig {
  const target: UpstreamConfig['target'] =
    'url' in reach
      ? { url: reach.url, headers: {}, forwardAuthorization: false }
      : { command: reach.command, args: reach.args, env: reach.env ?? {} };
  // However quick they are: tasks are what is compared.
  return { inlineWithinMs: 0, upstreams: [{ name: 'up', target, prefix: PREFIX, policy: {}, tools: [] }] };
}

const fronts = {
  stdio: async (place: Place): Promise<Reach> => {
    const program = join(import.meta.dirname, '..', 'support', 'front-process.ts');
    const args = ['--import', 'tsx', program, stateFolder(), JSON.stringify(configFor(place))];
    return { command: process.execPath, args };
  },
  http: async (place: Place): Promise<Reach> => {
    const gateway = await openGateway({ stateFolder: stateFolder(), config: configFor(place), logger: silent });
    onTestFinished(() => gateway.close());
    const { url } = await gateway.listen({ port: 0 });
    return { url };
  },
};

async function compared(kind: ClientKind, subject: Subject, front: keyof typeof fronts): Promise<Compared> {
  const [direct, place] = await subject.places();
  return compare({
    ...{ kind, direct, withTasks, steps: subject.steps },
    through: { reach: await fronts[front](place), folder: place.folder, prefix: PREFIX },
    normalisations: [...between, ...behindGateway, ...(kind === withTasks ? [] : [askedByTasks])],
  });
}

/** A file for each front: two run at once. */
export function givesTheSameAnswers(front: keyof typeof fronts, subjects: readonly Subject[]): void {
  describe(`a gateway over ${front}`, { timeout: 180_000 }, () => {
    it.each(subjects)('gives the same answers as $name behind it', async (subject) => {
      const all = await Promise.all(
        clientKinds.map(async (kind) => ({ kind, ...(await compared(kind, subject, front)) })),
      );
      const differing = all.filter(({ differences }) => differences.length > 0);
      expect(differing.map(({ kind, differences }) => [kind.name, differences])).toEqual([]);
      for (const { kind, answers, uncalled, tasks } of all) {
        expect(uncalled).toEqual([]);
        expect(answers).toBeGreaterThan(15);
        // Not so with a client that has none, or the proof were of something else.
        if (kind.tasks) expect([kind.name, tasks > 8]).toEqual([kind.name, true]);
        else expect([kind.name, tasks]).toEqual([kind.name, 0]);
      }
    });
  });
}
