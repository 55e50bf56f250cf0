import type { Tasks } from '../../src/engine/index.ts';
import { text } from '../../src/engine/index.ts';
import { deferred, pass, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { serve } from './peer.ts';

/** A server whose tool `writes` logs what its test says, until `go`. */
export function logging() {
  const go = deferred();
  let log: (line: string) => void = () => {};
  const served = serve((tasks: Tasks) => {
    tasks.registerTool('writes', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
      log = (line) => task.log(line);
      await go.promise;
      task.log('the last line');
      return text('done');
    });
  });
  return { ...served, go, log: (line: string) => log(line) };
}

/** What is logged is written within a tenth of a second. */
export async function wrote({ log, clock }: ReturnType<typeof logging>, ...lines: string[]): Promise<void> {
  for (const line of lines) log(line);
  await pass(clock, 100);
  await settle();
}

export const updated = (uri: string) => (message: Json) =>
  message['method'] === 'notifications/resources/updated' && (message['params'] as Json)['uri'] === uri;
