import { type FakeAnswer, type FakeRequest, FakeService, headerOf } from './fake-service.ts';

/** `202`, a monitor at `Location`, `303` to the result. */
export class GenericService extends FakeService {
  protected aboutOf(method: string, path: string): string {
    if (path.startsWith('/results/')) return 'result';
    if (!path.startsWith('/operations/')) return 'start';
    return method === 'DELETE' ? 'cancel' : 'status';
  }

  protected answer(request: FakeRequest): FakeAnswer {
    const id = request.path.split('/').at(-1)?.split('?', 1)[0];
    const paced = this.retryAfter === undefined ? {} : { 'retry-after': this.retryAfter };
    if (request.about === 'start') {
      const job = this.begin(request.body, headerOf(request, 'idempotency-key'));
      return { status: 202, headers: { location: `/operations/${job.id}`, ...paced } };
    }
    const job = this.visible(id);
    if (job === undefined) return { status: 404 };
    if (request.about === 'result') return { status: 200, body: job.result };
    if (request.about === 'cancel') {
      this.cancelled(job);
      return { status: 204 };
    }
    if (job.state === 'working') return { status: 202, headers: paced };
    if (job.state === 'cancelled') return { status: 410 };
    return { status: 303, headers: { location: `../results/${job.id}` } };
  }
}
