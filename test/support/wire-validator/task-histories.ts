// What the answers about one task, taken together, have to add up to.
import { canonical, isObject, type Json, objectAt } from './json.ts';
import { at } from './shapes.ts';
import type { Problem } from './violation.ts';

const terminal = ['completed', 'failed', 'cancelled'];

interface History {
  createdAt: unknown;
  /** What the creating request declared; undefined when somebody else saw it. */
  capabilities?: Json;
  latest: Json;
  questions: Map<string, string>;
  /** Keys that were shown and are gone, with the moment they were first missed. */
  retired: Map<string, number>;
}

/** A moment and what was known of a task then: an answer may only be newer than what its asker had already seen. */
export interface Baseline {
  moment: number;
  latest: Json | undefined;
}

export class TaskHistories {
  readonly #histories = new Map<string, History>();
  #moment = 0;

  baseline(taskId: unknown): Baseline {
    this.#moment += 1;
    return {
      moment: this.#moment,
      latest: typeof taskId === 'string' ? this.#histories.get(taskId)?.latest : undefined,
    };
  }

  created(handle: Json, capabilities: Json): Problem[] {
    const history = this.#histories.get(String(handle['taskId']));
    // A repeated call with an idempotency key gets the same task: as old as it ever was, and as far on as it is.
    if (history) return this.#creationProblems(history, handle);
    this.#histories.set(String(handle['taskId']), { ...this.#begin(handle), capabilities });
    return [];
  }

  seen(task: Json, baseline: Baseline): Problem[] {
    const taskId = String(task['taskId']);
    let history = this.#histories.get(taskId);
    if (!history) {
      history = this.#begin(task);
      this.#histories.set(taskId, history);
    }
    this.#moment += 1;
    const problems = [
      ...this.#creationProblems(history, task),
      ...(baseline.latest ? orderProblems(baseline.latest, task) : []),
      ...at('/inputRequests', this.#questionProblems(history, task, baseline)),
    ];
    if (!isOlder(task, history.latest) && (isTerminal(task) || !isTerminal(history.latest))) history.latest = task;
    return problems;
  }

  #begin(task: Json): History {
    return { createdAt: task['createdAt'], latest: task, questions: new Map(), retired: new Map() };
  }

  #creationProblems(history: History, task: Json): Problem[] {
    if (task['createdAt'] === history.createdAt) return [];
    return [{ path: '/createdAt', reason: `must stay what it was, ${String(history.createdAt)}` }];
  }

  #questionProblems(history: History, task: Json, baseline: Baseline): Problem[] {
    const problems: Problem[] = [];
    const requests = objectAt(task, 'inputRequests');
    for (const [key, request] of Object.entries(requests)) {
      const asked = canonical(request);
      const before = history.questions.get(key);
      history.questions.set(key, before ?? asked);
      if (before !== undefined && before !== asked) {
        problems.push({ path: `/${key}`, reason: 'must denote the request it denoted before' });
      }
      if ((history.retired.get(key) ?? Infinity) < baseline.moment) {
        problems.push({ path: `/${key}`, reason: 'must not come back: this key was answered or withdrawn' });
      }
      problems.push(...capabilityProblems(key, request, history.capabilities));
    }
    for (const key of Object.keys(objectAt(baseline.latest, 'inputRequests'))) {
      if (!(key in requests) && !history.retired.has(key)) history.retired.set(key, this.#moment);
    }
    return problems;
  }
}

/** A server may only ask what the client said it can answer. */
export function capabilityProblems(key: string, request: unknown, capabilities: Json | undefined): Problem[] {
  if (!capabilities || !isObject(request)) return [];
  const undeclared = (name: string) => [
    { path: `/${key}`, reason: `must not be asked: the client did not declare ${name}` },
  ];
  switch (request['method']) {
    case 'elicitation/create': {
      if (!isObject(capabilities['elicitation'])) return undeclared('elicitation');
      const elicitation = capabilities['elicitation'];
      const url = objectAt(request, 'params')['mode'] === 'url';
      if (url) return isObject(elicitation['url']) ? [] : undeclared('elicitation.url');
      // An empty declaration means forms.
      return isObject(elicitation['form']) || !isObject(elicitation['url']) ? [] : undeclared('elicitation.form');
    }
    case 'sampling/createMessage':
      return isObject(capabilities['sampling']) ? [] : undeclared('sampling');
    case 'roots/list':
      return isObject(capabilities['roots']) ? [] : undeclared('roots');
    default:
      return [];
  }
}

function orderProblems(before: Json, now: Json): Problem[] {
  const problems: Problem[] = [];
  if (isOlder(now, before)) {
    problems.push({ path: '/lastUpdatedAt', reason: `must not go back from ${String(before['lastUpdatedAt'])}` });
  }
  if (shrinks(before['ttlMs'], now['ttlMs'])) {
    problems.push({ path: '/ttlMs', reason: `must not shrink from ${String(before['ttlMs'])}` });
  }
  if (!isTerminal(before)) return problems;
  if (now['status'] !== before['status']) {
    problems.push({ path: '/status', reason: `must stay ${String(before['status'])}, which is final` });
  }
  for (const name of ['result', 'error']) {
    // A handle has no payload to compare with.
    if (name in before && canonical(before[name]) !== canonical(now[name])) {
      problems.push({ path: `/${name}`, reason: 'must not change: the status is final' });
    }
  }
  return problems;
}

function isTerminal(task: Json): boolean {
  return terminal.includes(String(task['status']));
}

function isOlder(task: Json, than: Json): boolean {
  return Date.parse(String(task['lastUpdatedAt'])) < Date.parse(String(than['lastUpdatedAt']));
}

function shrinks(before: unknown, now: unknown): boolean {
  const size = (ttl: unknown) => (ttl === null ? Infinity : Number(ttl));
  return size(now) < size(before);
}
