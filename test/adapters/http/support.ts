import { onTestFinished } from 'vitest';
import { fingerprint, type JobContext, LOCAL_PRINCIPAL } from '../../../src/core/index.ts';
import { ManualClock } from '../../../src/testing/index.ts';
import type { FakeService } from '../../fakes/fake-service.ts';

/** A service that ends with its test. */
export async function serving<Service extends FakeService>(service: Service): Promise<Service> {
  await service.listen();
  onTestFinished(() => service.close());
  return service;
}

export interface TestContext extends JobContext {
  clock: ManualClock;
  lines: string[];
}

/** A job without a task. @param job what tells it from others: the same gives the same key */
export function aContext({
  job = 'one',
  clock = new ManualClock(),
  signal = new AbortController().signal,
}: {
  job?: string;
  clock?: ManualClock;
  signal?: AbortSignal;
} = {}): TestContext {
  const lines: string[] = [];
  return {
    taskId: `task-${job}` as JobContext['taskId'],
    principal: LOCAL_PRINCIPAL,
    abilities: { form: false },
    startNumber: 1,
    idempotencyKey: fingerprint(job, 'base64url', 24),
    signal,
    traceparent: undefined,
    prepared: undefined,
    now: () => clock.now(),
    log: (text) => lines.push(text),
    clock,
    lines,
  };
}

/** The error that a promise is rejected with. */
export async function thrown(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  const nothing = Symbol('nothing');
  const error = await promise.then(
    () => nothing,
    (reason: unknown) => reason,
  );
  if (error === nothing) throw new Error('it was not rejected');
  return error as Error & Record<string, unknown>;
}

export function textOf(result: unknown): string {
  const { content } = result as { content: { text?: string }[] };
  return content.map(({ text }) => text ?? '').join('\n');
}
