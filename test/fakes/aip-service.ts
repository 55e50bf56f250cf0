import type { JsonObject } from '../../src/core/index.ts';
import { type FakeAnswer, type FakeJob, type FakeRequest, FakeService, pruned } from './fake-service.ts';

/** Methods that return an `Operation`, under `/v1/projects/p/operations/ID`. */
export class AipService extends FakeService {
  protected aboutOf(method: string, path: string): string {
    if (!path.includes('/operations/')) return 'start';
    return method === 'POST' ? 'cancel' : 'status';
  }

  protected answer(request: FakeRequest): FakeAnswer {
    if (request.about === 'start') {
      const { requestId } = request.body as { requestId?: string };
      return { status: 200, body: operation(this.begin(request.body, requestId)) };
    }
    const [, id] = /operations\/([^:?]+)/.exec(request.path) ?? [];
    const job = this.visible(id);
    if (job === undefined) return { status: 404, body: { error: { code: 404, status: 'NOT_FOUND' } } };
    if (request.about === 'cancel') {
      this.cancelled(job);
      return { status: 200, body: {} };
    }
    return { status: 200, body: operation(job) };
  }
}

function operation({ id, state, percent, message, result }: FakeJob): JsonObject {
  const name = `projects/p/operations/${id}`;
  const metadata = pruned({ progressPercent: percent, statusDetail: state === 'working' ? message : undefined });
  if (state === 'working') return { name, metadata };
  if (state === 'done') return { name, metadata, done: true, response: result };
  const error =
    state === 'failed' ? { code: 9, message: message ?? '' } : { code: 1, message: 'cancelled by its caller' };
  return { name, metadata, done: true, error };
}
