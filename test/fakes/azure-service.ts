import { type FakeAnswer, type FakeRequest, FakeService, headerOf, pruned } from './fake-service.ts';

/** `202` or `201` with `Operation-Location` (or whichever header it was told to use), and words for where it stands. */
export class AzureService extends FakeService {
  /** Where it tells of the status. */
  header: 'operation-location' | 'azure-asyncoperation' | 'location' = 'operation-location';
  /** Where it tells of the result. */
  resultBy: 'location' | 'resourceLocation' | 'nothing' = 'location';

  protected aboutOf(method: string, path: string): string {
    if (path.startsWith('/operations/')) return path.endsWith(':cancel') ? 'cancel' : 'status';
    return method === 'GET' ? 'result' : 'start';
  }

  protected answer(request: FakeRequest): FakeAnswer {
    const at = (path: string): string => `${this.origin}${path}`;
    if (request.about === 'start') {
      const job = this.begin(request.body, headerOf(request, 'idempotency-key'));
      const headers: Record<string, string> = { [this.header]: at(`/operations/${job.id}?api-version=1`) };
      if (this.resultBy === 'location' && this.header !== 'location') headers['location'] = at(`/things/${job.id}`);
      return {
        status: request.method === 'PUT' ? 201 : 202,
        headers,
        body: { properties: { provisioningState: 'Creating' } },
      };
    }
    const [, id] = /(op-\d+)/.exec(request.path) ?? [];
    if (request.about === 'result') return { status: 200, body: (this.visible(id) ?? this.job()).result };
    const job = this.visible(id);
    if (job === undefined) return { status: 404 };
    if (request.about === 'cancel') {
      this.cancelled(job);
      return { status: 202 };
    }
    if (this.header === 'location')
      return job.state === 'working' ? { status: 202 } : { status: 200, body: job.result };
    const words = { working: 'InProgress', done: 'Succeeded', failed: 'Failed', cancelled: 'Canceled' };
    const body = pruned({
      status: words[job.state],
      percentComplete: job.percent,
      error: job.state === 'failed' ? { code: 'Conflict', message: job.message ?? '' } : undefined,
      resourceLocation: this.resultBy === 'resourceLocation' ? at(`/things/${job.id}`) : undefined,
    });
    return { status: 200, body };
  }
}
