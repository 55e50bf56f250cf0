// Follows one connection: which requests are open on it, and whether what the server sends answers them by the book.
import { schemaProblems } from '../../spec/schemas.ts';
import {
  askedTaskId,
  definitionOf,
  definitionOfRequest,
  firstDraftNotificationProblems,
  firstDraftResultProblems,
  isBefore,
} from './first-draft.ts';
import { isObject, type Json, metaKey, objectAt, TASKS } from './json.ts';
import { fromBeforeProblems, isFromBefore, legacyNotificationProblems, legacyProblems } from './legacy.ts';
import { ProgressTokens } from './progress-tokens.ts';
import {
  type Definition,
  definitionOfError,
  definitionOfNotification,
  definitionOfResult,
  definitionOfServerRequest,
  resultTypesOf,
  type WireRevision,
} from './results.ts';
import {
  acknowledgementProblems,
  at,
  detailedTaskProblems,
  discoverProblems,
  handleProblems,
  inputRequiredProblems,
  toolListProblems,
} from './shapes.ts';
import { isRequestId, type RequestId, Subscriptions } from './subscriptions.ts';
import { type Baseline, capabilityProblems, type TaskHistories } from './task-histories.ts';
import { type Problem, type Violation, WireViolationError } from './violation.ts';

/** A request that has no answer yet. */
export interface OpenRequest {
  method: string;
  revision: WireRevision;
  /** What the session or header says, which may be older than the schema we hold it against. */
  version: string | undefined;
  params: Json;
  /** What this request declared; a revision of 2025 declares for the session instead. */
  capabilities: Json;
  baseline: Baseline;
}

export interface ConnectionOptions {
  histories: TaskHistories;
  /** Tokens of tasks whose progress may come on another connection. @default none does */
  taskTokens?: Map<unknown, number>;
  /** Called for each message checked. */
  count: () => void;
  report: (violations: readonly Violation[]) => void;
  /** Of all that is said, whatever single requests say: a connection over stdio is for one, as its first message has it. */
  revision?: WireRevision;
  /** Belongs to a session, which only versions before 2026-07-28 have, whatever single requests say. @default false */
  session?: boolean;
  /** JSON-RPC wants `id: null` where the request's id could not be read, the schema wants none. */
  nullErrorId: 'refuse' | 'accept';
  /** What an `initialize` is that carries an envelope of 2026-07-28, where the SDK takes it for a handshake. @default 'refuse' */
  envelopedHandshake?: 'refuse' | 'accept';
  /** The server speaks the first draft of tasks in sessions before 2025-11-25. @default false */
  firstDraft?: boolean;
}

const taskMethods = ['tasks/get', 'tasks/update', 'tasks/cancel'];
/** Codes of older revisions and drafts: a modern peer must not be made to guess them. */
const retiredCodes = [-32042, -32002, -32003];

/** One stream of requests and answers with request ids of its own. */
export class WireConnection {
  readonly #options: ConnectionOptions;
  readonly #subscriptions: Subscriptions;
  // A hostile client may use an id twice: then each gets one answer, in any order.
  readonly #open = new Map<RequestId, OpenRequest[]>();
  readonly #progress: ProgressTokens;
  #revision: WireRevision | undefined;
  #version: string | undefined;
  /** Ids of tasks by the first draft: asked for, and told of. */
  readonly #asked = new Set<string>();
  readonly #told = new Set<string>();
  #isAgreed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#subscriptions = new Subscriptions(options.histories);
    this.#progress = new ProgressTokens(options.taskTokens);
    this.#revision = options.revision ?? (options.session ? '2025-11-25' : undefined);
  }

  /** The version was agreed at `initialize`, elsewhere: from now on it counts, and no header. */
  agreed(version: string): void {
    this.#version = version;
    this.#isAgreed = true;
  }

  /**
   * Takes note of what a client sends. `revision` is for requests that do not say it: that of the header or session.
   * @returns the requests in it
   */
  observeRequest(message: unknown, revision?: string): OpenRequest[] {
    if (Array.isArray(message)) return message.filter(isObject).flatMap((one) => this.observeRequest(one, revision));
    if (!isObject(message) || (!('method' in message) && ('result' in message || 'error' in message))) return [];
    const method = typeof message['method'] === 'string' ? message['method'] : ''; // Malformed, it can be answered.
    const params = objectAt(message, 'params');
    const meta = objectAt(params, '_meta');
    const said = this.#options.revision ?? revisionOf(method, meta, revision);
    const own = said ?? this.#revision ?? '2025-11-25';
    if (this.#options.session !== true) this.#revision = own;
    if (!this.#isAgreed) this.#version = revision ?? this.#version;
    const id = message['id'];
    if (!isRequestId(id)) return [];
    const request: OpenRequest = {
      method,
      revision: own,
      version: this.#version,
      params,
      capabilities: objectAt(meta, metaKey.clientCapabilities),
      baseline: this.#options.histories.baseline(params['taskId']),
    };
    this.#open.set(id, [...(this.#open.get(id) ?? []), request]);
    this.#progress.asked(params);
    const asked = askedTaskId(params);
    if (asked !== undefined) this.#asked.add(asked);
    if (method === 'subscriptions/listen') this.#subscriptions.opened(id, params);
    return [request];
  }

  /**
   * @param among the requests that can be answered here. @default all that are open
   * @throws {@link WireViolationError} when the message is not one the server may send here and now.
   */
  checkOutgoing(message: unknown, among?: readonly OpenRequest[]): void {
    if (Array.isArray(message) && this.#revision === '2025-11-25') {
      for (const one of message) this.checkOutgoing(one, among);
      return;
    }
    this.#options.count();
    const { method, problems } = this.#check(message, among);
    if (problems.length > 0) this.fail(method, message, problems);
  }

  fail(method: string, message: unknown, problems: readonly Problem[]): never {
    const violations = problems.map((problem) => ({ method, message, ...problem }));
    this.#options.report(violations);
    throw new WireViolationError(violations);
  }

  #check(message: unknown, among: readonly OpenRequest[] | undefined): { method: string; problems: Problem[] } {
    // On the response to a request, everything is in its words.
    const revision = among?.[0]?.revision ?? this.#revision ?? '2026-07-28';
    if (!isObject(message)) return { method: '(none)', problems: [{ path: '', reason: 'must be a JSON-RPC message' }] };
    const kinds = ['method', 'result', 'error'].filter((name) => name in message);
    if (kinds.length !== 1) {
      const reason = `must have one of method, result, error; has ${kinds.join(', ') || 'none'}`;
      return { method: '(none)', problems: [{ path: '', reason }] };
    }
    const problems = Object.keys(message)
      .filter((name) => !['jsonrpc', 'id', 'params', kinds[0]].includes(name))
      .map((name) => ({ path: `/${name}`, reason: 'must be absent: it is no member of a JSON-RPC message' }));
    if (message['jsonrpc'] !== '2.0') problems.push({ path: '/jsonrpc', reason: 'must be "2.0"' });
    if (kinds[0] === 'method') {
      const method = String(message['method']);
      const own = 'id' in message ? this.#serverRequest(revision, message) : this.#notification(revision, message);
      return { method, problems: [...problems, ...own] };
    }
    const request = this.#settle(message['id'], among);
    const method = request?.method ?? '(no request)';
    const own = kinds[0] === 'error' ? this.#error(request, revision, message) : this.#result(request, message);
    return { method, problems: [...problems, ...own] };
  }

  #settle(id: unknown, among: readonly OpenRequest[] | undefined): OpenRequest | undefined {
    if (!isRequestId(id)) return undefined;
    const open = this.#open.get(id) ?? [];
    const request = open.find((candidate) => among?.includes(candidate) ?? true);
    const others = open.filter((other) => other !== request);
    if (others.length > 0) this.#open.set(id, others);
    else this.#open.delete(id);
    if (request) this.#progress.answered(request.revision, request.params);
    return request;
  }

  #result(request: OpenRequest | undefined, message: Json): Problem[] {
    if (!request) return [{ path: '/id', reason: 'must be the id of an open request' }];
    const { method } = request;
    const revision = this.#isHandshake(request) ? '2025-11-25' : request.revision;
    const result = message['result'];
    if (!isObject(result)) return [{ path: '/result', reason: 'must be an object' }];
    const agreed = method === 'initialize' ? String(result['protocolVersion']) : undefined;
    if (agreed !== undefined && !this.#isAgreed) this.#version = agreed;
    const before = revision === '2026-07-28' && isFromBefore(request);
    const draft = this.#speaksFirstDraft(request.revision, agreed ?? request.version);
    const definition =
      (draft && definitionOf(method)) || definitionOfResult(before ? '2025-11-25' : revision, method, result);
    if (!definition) return [{ path: '/result', reason: `must be an error: ${revision} has no ${method}` }];
    const problems = schemaProblems(...definition, result);
    if (before) problems.push(...fromBeforeProblems(request, result));
    else if (revision === '2026-07-28') problems.push(...this.#modern(request, message['id'], result));
    else if (draft) problems.push(...firstDraftResultProblems(request, result, this.#told));
    else problems.push(...legacyProblems({ ...request, version: agreed ?? request.version }, result));
    return at('/result', problems);
  }

  #modern(request: OpenRequest, id: unknown, result: Json): Problem[] {
    const { method, params, capabilities, baseline } = request;
    const problems: Problem[] = [];
    const types = resultTypesOf(method);
    if (!types.includes(String(result['resultType']))) {
      problems.push({ path: '/resultType', reason: `must be ${types.join(' or ')} for ${method}` });
    }
    const declared = isObject(objectAt(capabilities, 'extensions')[TASKS]);
    if (taskMethods.includes(method) && !declared) {
      problems.push({ path: '', reason: 'must be error -32021: the request did not declare the extension' });
    }
    switch (method) {
      case 'server/discover':
        return [...problems, ...discoverProblems(result)];
      case 'tools/list':
        return [...problems, ...toolListProblems(result)];
      case 'tasks/update':
      case 'tasks/cancel':
        return [...problems, ...acknowledgementProblems(result)];
      case 'tasks/get':
        if (result['taskId'] !== params['taskId'])
          problems.push({ path: '/taskId', reason: 'must be the one asked for' });
        return [...problems, ...detailedTaskProblems(result), ...this.#options.histories.seen(result, baseline)];
      case 'subscriptions/listen':
        return [...problems, ...this.#subscriptions.ended(id as RequestId, result)];
    }
    if (result['resultType'] === 'task') {
      if (!declared)
        problems.push({ path: '', reason: 'must be no handle: the request did not declare the extension' });
      problems.push(...handleProblems(result), ...this.#options.histories.created(result, capabilities));
    }
    if (result['resultType'] === 'input_required') {
      const requests = Object.entries(objectAt(result, 'inputRequests'));
      const asked = requests.flatMap(([key, asked]) => capabilityProblems(key, asked, capabilities));
      problems.push(...inputRequiredProblems(result), ...at('/inputRequests', asked));
    }
    return problems;
  }

  #error(request: OpenRequest | undefined, connection: WireRevision, message: Json): Problem[] {
    const revision = request && this.#isHandshake(request) ? '2025-11-25' : (request?.revision ?? connection);
    const tolerated = message['id'] === null && this.#options.nullErrorId === 'accept';
    const { id, ...anonymous } = message;
    const error = objectAt(message, 'error');
    const problems = schemaProblems(...definitionOfError(revision, error['code']), tolerated ? anonymous : message);
    if (isRequestId(id) && !request) problems.push({ path: '/id', reason: 'must be the id of an open request' });
    if (isRequestId(id)) this.#subscriptions.refused(id);
    if (error['message'] === '') problems.push({ path: '/error/message', reason: 'must say what is wrong' });
    if (revision !== '2026-07-28') return problems;
    if (retiredCodes.includes(Number(error['code']))) {
      problems.push({ path: '/error/code', reason: 'must be a code of 2026-07-28' });
    }
    const required = objectAt(error, 'data', 'requiredCapabilities', 'extensions');
    if (error['code'] === -32021 && taskMethods.includes(request?.method ?? '') && !isObject(required[TASKS])) {
      problems.push({ path: '/error/data/requiredCapabilities', reason: 'must name the tasks extension' });
    }
    return problems;
  }

  #notification(revision: WireRevision, message: Json): Problem[] {
    const method = String(message['method']);
    const draft = this.#speaksFirstDraft(revision);
    if (draft && method === 'notifications/tasks/created') {
      return firstDraftNotificationProblems(method, message, { asked: this.#asked, told: this.#told });
    }
    const definition = definitionOfNotification(revision, method);
    if (!definition) return [{ path: '/method', reason: `must be a notification of ${revision}` }];
    const params = objectAt(message, 'params');
    const problems = schemaProblems(...definition, message);
    if (method === 'notifications/progress') problems.push(...this.#progress.notified(params));
    if (revision !== '2026-07-28') return [...problems, ...legacyNotificationProblems(method, params, this.#version)];
    if (method === 'notifications/message' && !this.#requests().some(asksForLog)) {
      problems.push({ path: '', reason: 'must be asked for: no open request names a logLevel' });
    }
    if (method === 'notifications/tasks') {
      if ('resultType' in params)
        problems.push({ path: '/params/resultType', reason: 'must be absent: it is no result' });
      problems.push(...at('/params', detailedTaskProblems(params)));
    }
    return [...problems, ...(this.#subscriptions.notified(method, params) ?? [])];
  }

  #serverRequest(revision: WireRevision, message: Json): Problem[] {
    const method = String(message['method']);
    const draft = this.#speaksFirstDraft(revision);
    const definition: Definition | undefined =
      (draft && definitionOfRequest(method)) || definitionOfServerRequest(revision, method);
    if (definition) {
      const own = legacyNotificationProblems(method, objectAt(message, 'params'), this.#version);
      return [...schemaProblems(...definition, message), ...own];
    }
    return [{ path: '/method', reason: `must be no request: a server of ${revision} does not send ${method}` }];
  }

  /** Whatever else is in its `_meta`, a handshake is one, unless that is an envelope of the later revision, which has none. */
  #isHandshake({ method, params }: OpenRequest): boolean {
    const accepted = this.#options.envelopedHandshake === 'accept' || !isEnvelope(objectAt(params, '_meta'));
    return method === 'initialize' && accepted;
  }

  /** @param version the one it is said on. @default that of the connection */
  #speaksFirstDraft(revision: WireRevision, version = this.#version): boolean {
    return this.#options.firstDraft === true && revision === '2025-11-25' && isBefore(version);
  }

  #requests(): OpenRequest[] {
    return [...this.#open.values()].flat();
  }
}

function revisionOf(method: string, meta: Json, hint: string | undefined): WireRevision | undefined {
  if (metaKey.protocolVersion in meta || method === 'server/discover') return '2026-07-28';
  if (method === 'initialize') return '2025-11-25';
  if (hint === undefined) return undefined;
  return hint < '2026' ? '2025-11-25' : '2026-07-28';
}

function isEnvelope(meta: Json): boolean {
  return typeof meta[metaKey.protocolVersion] === 'string' && isObject(meta[metaKey.clientCapabilities]);
}

function asksForLog(request: OpenRequest): boolean {
  return objectAt(request.params, '_meta')[metaKey.logLevel] !== undefined;
}
