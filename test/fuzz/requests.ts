import type { Json } from '../support/messages.ts';
import { type CastName, owners, questions } from './cast.ts';
import type { Subjects } from './subjects.ts';
import { tools } from './tools.ts';

/** One method, and params that it may have. Methods of one revision are sent on the others too. */
interface Request {
  method: string;
  weight: number;
  params: (subjects: Subjects) => Json;
  /** It names a task by its id. */
  ofTask?: true;
}

const none = (): Json => ({});
const tool = (name: string, args: (subjects: Subjects) => Json): Request => ({
  method: 'tools/call',
  weight: 3,
  params: (subjects) => ({ name, arguments: { taskId: subjects.task(), ...args(subjects) } }),
  ofTask: true,
});

const companions: readonly Request[] = [
  tool('task_wait', ({ chance }) => ({ ...(chance.odds(0.5) && { maxWaitSec: chance.pick([0, 1, 30, -1, 1e9]) }) })),
  tool('task_status', none),
  tool('task_result', none),
  tool('task_logs', ({ chance }) => ({
    ...(chance.odds(0.5) && { cursor: chance.pick([0, 1, 9, 2 ** 53, -5, 0.5]) }),
    ...(chance.odds(0.3) && { tail: chance.pick([1, 5, 10_000, 10_001, 0, -1, 'x']) }),
    ...(chance.odds(0.3) && { stream: chance.pick(['stdout', 'stderr', 'stdin', 7]) }),
  })),
  tool('task_answer', (subjects) => ({
    key: subjects.chance.pick(questions)[1],
    ...(subjects.answer() as Json),
    action: subjects.chance.pick(['accept', 'decline', 'cancel', 'x']),
  })),
  { ...tool('task_cancel', none), weight: 1 },
  { ...tool('task_delete', none), weight: 1 },
  {
    method: 'tools/call',
    weight: 2,
    params: (subjects) => ({
      name: 'task_list',
      arguments: subjects.chance.odds(0.5) ? {} : { cursor: `{{cursor ${subjects.owner()}}}` },
    }),
  },
];

const ofTasks: readonly Request[] = [
  { method: 'tasks/get', weight: 12, params: (subjects) => ({ taskId: subjects.task() }), ofTask: true },
  { method: 'tasks/result', weight: 6, params: (subjects) => ({ taskId: subjects.task() }), ofTask: true },
  { method: 'tasks/cancel', weight: 4, params: (subjects) => ({ taskId: subjects.task() }), ofTask: true },
  { method: 'tasks/delete', weight: 1, params: (subjects) => ({ taskId: subjects.task() }), ofTask: true },
  {
    method: 'tasks/update',
    weight: 8,
    params: (subjects) => ({ taskId: subjects.task(), inputResponses: subjects.responses() }),
    ofTask: true,
  },
  {
    method: 'tasks/list',
    weight: 4,
    params: ({ chance }) => (chance.odds(0.5) ? {} : { cursor: `{{cursor ${chance.pick(owners)}}}` }),
  },
  {
    method: 'subscriptions/listen',
    weight: 4,
    params: (subjects) => ({
      notifications: {
        taskIds: Array.from({ length: subjects.chance.int(0, 4) }, () => subjects.task()),
        ...(subjects.chance.odds(0.3) && { resourceSubscriptions: [subjects.uri(), 'test://own'] }),
        ...(subjects.chance.odds(0.3) && { toolsListChanged: true }),
      },
    }),
    ofTask: true,
  },
  { method: 'resources/read', weight: 6, params: (subjects) => ({ uri: subjects.uri() }), ofTask: true },
  { method: 'resources/subscribe', weight: 1, params: (subjects) => ({ uri: subjects.uri() }), ofTask: true },
  { method: 'resources/unsubscribe', weight: 1, params: (subjects) => ({ uri: subjects.uri() }), ofTask: true },
];

const calls: readonly Request[] = tools.map((name) => ({
  method: 'tools/call',
  weight: 2,
  params: (subjects) => ({ name, arguments: subjects.arguments(name) as Json }),
}));

const rounds: readonly Request[] = [
  {
    method: 'tools/call',
    weight: 4,
    params: (subjects) => ({
      name: subjects.chance.pick(['paint', 'visit', 'interview']),
      arguments: {},
      requestState: `{{state ${subjects.owner()} ${subjects.chance.pick(questions)[0]}}}`,
      inputResponses: subjects.responses(),
    }),
  },
  {
    method: 'tools/call',
    weight: 1,
    params: ({ chance }) => ({
      name: 'prepared',
      arguments: {},
      requestState: chance.pick(['a state of its own', 'lc-task.', 'lc-task.AAAA', '']),
      inputResponses: { name: 'Ada' },
    }),
  },
];

const others: readonly Request[] = [
  { method: 'ping', weight: 2, params: none },
  { method: 'server/discover', weight: 2, params: none },
  { method: 'tools/list', weight: 3, params: ({ chance }) => (chance.odds(0.8) ? {} : { cursor: 'x' }) },
  {
    method: 'initialize',
    weight: 3,
    params: ({ chance }) => ({
      protocolVersion: chance.pick(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2026-07-28', 'x']),
      capabilities: chance.pick([{}, { tasks: {} }, { elicitation: { url: {} } }]),
      clientInfo: { name: 'a fuzzer', version: '1.0.0' },
    }),
  },
  { method: 'resources/list', weight: 1, params: none },
  { method: 'resources/templates/list', weight: 1, params: none },
  { method: 'prompts/list', weight: 1, params: none },
  { method: 'prompts/get', weight: 1, params: () => ({ name: 'own_prompt', arguments: { topic: 'x' } }) },
  {
    method: 'completion/complete',
    weight: 1,
    params: () => ({ ref: { type: 'ref/prompt', name: 'own_prompt' }, argument: { name: 'topic', value: 'p' } }),
  },
  { method: 'logging/setLevel', weight: 1, params: ({ chance }) => ({ level: chance.pick(['info', 'debug', 'x']) }) },
  {
    method: 'tools/call',
    weight: 3,
    params: ({ chance }) => ({
      name: chance.pick(['own_ask', 'own_add', 'no_such']),
      arguments: { what: 'x', a: 1, b: 2 },
    }),
  },
  { method: 'sampling/createMessage', weight: 0.3, params: none },
  { method: 'elicitation/create', weight: 0.3, params: none },
  { method: 'tasks/unheard-of', weight: 0.5, params: (subjects) => ({ taskId: subjects.task() }), ofTask: true },
  { method: 'toString', weight: 0.3, params: none },
  { method: '__proto__', weight: 0.3, params: none },
];

const notifications: readonly Request[] = [
  {
    method: 'notifications/cancelled',
    weight: 6,
    params: ({ chance }) => ({
      requestId: chance.pick([
        0,
        1,
        2,
        3,
        7,
        -1,
        1.5,
        2 ** 60,
        '1',
        '',
        null,
        'lc-x',
        'longcall-initialize',
        '{{asked 0}}',
        {},
      ]),
      reason: chance.pick(['timeout', 'because', '']),
    }),
  },
  { method: 'notifications/initialized', weight: 2, params: none },
  { method: 'notifications/progress', weight: 1, params: () => ({ progressToken: 1, progress: 1 }) },
  { method: 'notifications/roots/list_changed', weight: 1, params: none },
  {
    method: 'notifications/tasks/status',
    weight: 1,
    params: (subjects) => ({ taskId: subjects.task(), status: 'completed' }),
  },
  { method: 'notifications/unheard-of', weight: 1, params: none },
];

/** Requests that name a task: those a foreign id could be told from an unknown one by. */
const naming = [...ofTasks, ...companions, ...others].filter(({ ofTask }) => ofTask === true);

export type Kind = 'any' | 'naming' | 'notification';

/** A message of a kind, without what its wire adds. Ids are few, so that some meet. */
export function someMessage(kind: Kind, subjects: Subjects): Json {
  const { chance } = subjects;
  const from =
    kind === 'naming'
      ? naming
      : kind === 'notification'
        ? notifications
        : [...ofTasks, ...companions, ...calls, ...rounds, ...others];
  const request = chance.weighted(from.map((entry) => [entry, entry.weight] as const)) as Request;
  const params = request.params(subjects);
  if (kind === 'notification') return { jsonrpc: '2.0', method: request.method, params };
  return { jsonrpc: '2.0', id: chance.pick([0, 1, 2, 3, 7, 'one', '']), method: request.method, params };
}

/** What a client says to a question of the server's, or pretends to. */
export function someAnswer(subjects: Subjects): Json {
  const { chance } = subjects;
  const [task, key] = chance.pick(questions);
  const id = chance.weighted<string | number>([
    [`{{question ${subjects.owner()} ${task satisfies CastName} ${key}}}`, 6],
    [`{{asked ${chance.int(0, 3)}}}`, 4],
    [chance.pick(['lc-', 'lc-AAAA', 'lcx-AAAA', 'longcall-initialize', '1', '']), 1],
    [chance.pick([0, 1, 2 ** 53]), 1],
  ]);
  const said = chance.odds(0.8)
    ? { result: subjects.answer() }
    : { error: { code: chance.pick([-1, -32601, -32603]), message: 'no' } };
  return { jsonrpc: '2.0', id, ...said };
}
