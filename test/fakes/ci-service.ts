import type { JsonObject } from '../../src/core/index.ts';
import { type FakeAnswer, type FakeRequest, FakeService } from './fake-service.ts';

/**
 * A CI service whose dispatch answers 204 and tells no id. A run appears in the list after a while, newest first, under a name
 * that was made of an input: the one place where it can be recognized.
 */
export class CiService extends FakeService {
  /** Somebody else starts a run. @returns its id */
  byHand(): string {
    return this.begin(undefined, undefined).id;
  }

  protected aboutOf(method: string, path: string): string {
    if (path.endsWith('/dispatches')) return 'start';
    if (path.endsWith('/cancel')) return 'cancel';
    return method === 'GET' && path.endsWith('/runs') ? 'list' : 'status';
  }

  protected answer(request: FakeRequest): FakeAnswer {
    if (request.about === 'start') {
      const { inputs = {} } = request.body as { inputs?: { token?: string } };
      this.begin(request.body, inputs.token);
      return { status: 204 };
    }
    const [, id] = /runs\/([^/?]+)/.exec(request.path) ?? [];
    if (request.about === 'list') {
      const runs = [...this.jobs.keys()].flatMap((one) => (this.visible(one) === undefined ? [] : [this.#run(one)]));
      return { status: 200, body: { total_count: runs.length, workflow_runs: runs.reverse() } };
    }
    const job = this.visible(id);
    if (job === undefined) return { status: 404 };
    if (request.about === 'cancel') {
      this.cancelled(job);
      return { status: 202 };
    }
    return { status: 200, body: this.#run(job.id) };
  }

  #run(id: string): JsonObject {
    const { key, state, startedAt, message, result } = this.job(id);
    const conclusions = { working: null, done: 'success', failed: 'failure', cancelled: 'cancelled' };
    return {
      id,
      name: `nightly ${key ?? 'by hand'}`,
      status: state === 'working' ? 'in_progress' : conclusions[state],
      created_at: new Date(startedAt).toISOString(),
      ...(message !== undefined && { failure: message }),
      ...(state === 'done' && { result }),
    };
  }
}
