import type { HttpCancelOptions, HttpIdempotency, HttpStartOptions, HttpStatusOptions } from './options.ts';

export interface Preset {
  start: Omit<HttpStartOptions, 'url'>;
  status: HttpStatusOptions;
  cancel: HttpCancelOptions | false;
  idempotency: HttpIdempotency | false;
}

/** What options leave out. A preset is nothing else: whatever it says can be said in options too. */
export const PRESETS = {
  /** @see RFC 9110, 15.3.3 (202), 15.4.4 (303), 10.2.3 (Retry-After); RFC 7240 (Prefer); draft-ietf-httpapi-idempotency-key-header */
  'generic-202': {
    start: { headers: { prefer: 'respond-async' } },
    status: { url: { header: 'location' } },
    cancel: { method: 'DELETE', url: { status: '' } },
    idempotency: { header: 'idempotency-key' },
  },
  /** @see https://google.aip.dev/151; google.longrunning.Operations; google.rpc.Code (1 is CANCELLED) */
  'aip-151': {
    start: { operation: true, accepted: [] },
    status: {
      url: '/v1/{+answer.name}',
      done: '$.done',
      error: '$.error',
      cancelled: { at: '$.error.code', is: [1] },
      progress: '$.metadata.progressPercent',
      message: ['$.metadata.statusDetail', '$.metadata.statusMessage'],
      result: '$.response',
    },
    cancel: { method: 'POST', url: { status: ':cancel' }, body: {} },
    idempotency: false,
  },
  /** @see Azure REST API guidelines, "Long-Running Operations"; Azure Resource Manager, "Track asynchronous operations" */
  azure: {
    start: { accepted: [202, 201, 200] },
    status: {
      url: [{ header: 'operation-location' }, { header: 'azure-asyncoperation' }, { header: 'location' }],
      state: ['$.status', '$.properties.provisioningState'],
      states: { done: ['Succeeded'], failed: ['Failed'], cancelled: ['Canceled', 'Cancelled'] },
      error: '$.error',
      progress: '$.percentComplete',
      result: [
        '$.result',
        { url: { answer: '$.resourceLocation' } },
        { url: { header: 'location' } },
        { url: { start: '', methods: ['PUT', 'PATCH'] } },
      ],
    },
    cancel: false,
    idempotency: false,
  },
} as const satisfies Record<string, Preset>;
