import { describe, expect, it } from 'vitest';
import {
  type CallFace,
  type CallSituation,
  classOf,
  negotiateCall,
  negotiateMethod,
} from '../../src/wire/negotiate.ts';
import { type TaskSupport, tasksCapability } from '../../src/wire/rev2025-11-25/index.ts';
import { schemaProblems } from '../spec/schemas.ts';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const extension = { extensions: { [EXTENSION]: {} } };
const legacyTasks = { tasks: { requests: { elicitation: { create: {} } } } };
const listing = tasksCapability(['optional'], { list: true });
const unlisted = tasksCapability(['optional'], { list: false });
const supports = ['forbidden', 'optional', 'required'] as const;

type Caller = Pick<CallSituation, 'version' | 'clientCapabilities' | 'declared' | 'task' | 'augmented' | 'firstDraft'>;

function caller(version: string | undefined, more: Partial<Caller> = {}): Caller {
  return { version, clientCapabilities: {}, declared: listing, task: undefined, ...more };
}

/** In a word: how a call is served, or the code of the error. */
function face(from: Caller, support: TaskSupport, fallback: CallSituation['fallback'] = 'detach'): string | number {
  const served = negotiateCall({ ...from, tool: 't', support, fallback });
  switch (served.face) {
    case 'inline':
      return 'inline';
    case 'handle':
      return served.revision;
    case 'fallback':
      return served.how;
    case 'refused':
      return served.error.code;
  }
}

describe('the class of a request', () => {
  it.each([
    ['2026-07-28', '2026-07-28'],
    ['2027-01-01', '2026-07-28'],
    ['2025-11-25', '2025-11-25'],
    ['2025-11-26', 'without_tasks'],
    ['2025-06-18', 'without_tasks'],
    ['2024-11-05', 'without_tasks'],
    ['DRAFT-2026-v1', 'without_tasks'],
    ['', 'without_tasks'],
    [undefined, 'without_tasks'],
  ])('of version %s is %s', (version, expected) => {
    expect(classOf(version)).toBe(expected);
  });
});

describe('a call', () => {
  const modern = (clientCapabilities: unknown, task?: unknown) => caller('2026-07-28', { clientCapabilities, task });
  const session = (task?: unknown) => caller('2025-11-25', { task });

  it.each<
    [who: string, from: Caller, forbidden: string | number, optional: string | number, required: string | number]
  >([
    ['2026-07-28 with the extension', modern(extension), 'inline', '2026-07-28', '2026-07-28'],
    [
      '2026-07-28 with settings of it',
      modern({ extensions: { [EXTENSION]: { x: 1 } } }),
      'inline',
      '2026-07-28',
      '2026-07-28',
    ],
    ['2026-07-28 without', modern({}), 'inline', 'detach', -32021],
    ['2026-07-28 with null for it', modern({ extensions: { [EXTENSION]: null } }), 'inline', 'detach', -32021],
    ['2026-07-28 that says nothing', modern(undefined), 'inline', 'detach', -32021],
    ['2025-11-25 with a task', session({}), '-32601', '2025-11-25', '2025-11-25'],
    ['2025-11-25 with null for a task', session(null), '-32601', '2025-11-25', '2025-11-25'],
    ['2025-11-25 without', session(), 'inline', 'detach', -32601],
    ['2025-06-18', caller('2025-06-18'), 'inline', 'detach', 'detach'],
    ['an unknown version', caller('tomorrow'), 'inline', 'detach', 'detach'],
    ['no version', caller(undefined), 'inline', 'detach', 'detach'],
  ])('of %s', (_, from, ...expected) => {
    expect(supports.map((support) => String(face(from, support)))).toEqual(expected.map(String));
  });

  it('is refused with a task where the tool has none, and without one where it needs one [G2-S-04] [G2-S-05] [G2-S-52] [C-015]', () => {
    const refusal = (from: Caller, support: TaskSupport) =>
      negotiateCall({ ...from, tool: 'deploy', support, fallback: 'detach' });
    expect(refusal(session({}), 'forbidden')).toEqual({
      face: 'refused',
      error: { code: -32601, message: 'tool deploy never runs as a task; call it without a task' },
    });
    expect(refusal(session(), 'required')).toEqual({
      face: 'refused',
      error: { code: -32601, message: 'tool deploy runs only as a task; call it with params.task, e.g. "task": {}' },
    });
  });

  it('ignores `task` in a session that was not told of tasks [G2-S-06]', () => {
    for (const task of [{}, { ttl: 60_000 }, null, 'yes']) {
      const from = caller('2025-11-25', { task, declared: undefined });
      expect(supports.map((support) => face(from, support))).toEqual(['inline', 'detach', 'detach']);
    }
  });

  it('ignores `task` on 2026-07-28 and before 2025-11-25', () => {
    for (const task of [{}, null, 'yes']) {
      expect(supports.map((support) => face(modern({}, task), support))).toEqual(['inline', 'detach', -32021]);
      expect(face(modern(extension, task), 'optional')).toBe('2026-07-28');
      expect(face(caller('2025-06-18', { task }), 'optional')).toBe('detach');
    }
  });

  it('ignores what a legacy client says of tasks on 2026-07-28, and the extension on 2025-11-25 [G3-S-66] [G3-S-68]', () => {
    expect(supports.map((support) => face(modern(legacyTasks), support))).toEqual(['inline', 'detach', -32021]);
    const session = caller('2025-11-25', { clientCapabilities: extension });
    expect(supports.map((support) => face(session, support))).toEqual(['inline', 'detach', -32601]);
  });

  it.each<[who: string, from: Caller, block: CallFace, code: number]>([
    ['2026-07-28', modern({}), { face: 'fallback', how: 'block' }, -32021],
    ['2025-11-25', session(), { face: 'fallback', how: 'block' }, -32601],
    [
      '2025-11-25 without tasks',
      caller('2025-11-25', { declared: undefined }),
      { face: 'fallback', how: 'block' },
      -32601,
    ],
    ['2025-06-18', caller('2025-06-18'), { face: 'fallback', how: 'block' }, -32601],
  ])('from %s falls back as the server chose', (_, from, block, code) => {
    expect(negotiateCall({ ...from, tool: 't', support: 'optional', fallback: 'block' })).toEqual(block);
    expect(face(from, 'optional', 'refuse')).toBe(code);
    expect(face(from, 'required', 'refuse')).toBe(code);
    expect(face(from, 'forbidden', 'refuse')).toBe('inline');
  });

  it.each([['2025-06-18'], ['2024-11-05'], [undefined], ['tomorrow']])(
    'of version %s with the key of the first draft is a task where that is spoken, and else as if it were not there [G1-S-04]',
    (version) => {
      const of = (more: Partial<Caller>) => supports.map((support) => face(caller(version, more), support));
      expect(of({ augmented: true, firstDraft: true })).toEqual(['inline', 'SEP-1686', 'SEP-1686']);
      expect(of({ augmented: true })).toEqual(['inline', 'detach', 'detach']);
      expect(of({ augmented: false, firstDraft: true })).toEqual(['inline', 'detach', 'detach']);
    },
  );

  it('of a later revision ignores the key of the first draft', () => {
    const key = { augmented: true, firstDraft: true };
    expect(face({ ...modern(extension), ...key }, 'optional')).toBe('2026-07-28');
    expect(face({ ...modern({}), ...key }, 'optional')).toBe('detach');
    expect(face({ ...session({}), ...key }, 'optional')).toBe('2025-11-25');
    expect(face({ ...session(), ...key }, 'optional')).toBe('detach');
  });

  it('of an older session learns what it would take [C-015]', () => {
    const served = negotiateCall({ ...caller('2025-06-18'), tool: 't', support: 'required', fallback: 'refuse' });
    expect(served).toHaveProperty('error.message', expect.stringContaining('MCP 2026-07-28 and the tasks extension'));
  });

  it('is refused on 2026-07-28 in the words of its schema', () => {
    const served = negotiateCall({ ...modern({}), tool: 't', support: 'required', fallback: 'block' });
    const error = served.face === 'refused' ? served.error : undefined;
    const message = { jsonrpc: '2.0', id: 1, error };
    expect(schemaProblems('core-2026-07-28', 'MissingRequiredClientCapabilityError', message)).toEqual([]);
  });
});

describe('a task method', () => {
  const methods = ['get', 'update', 'cancel', 'result', 'list', 'delete'].map((name) => `tasks/${name}`);
  const served = (from: Caller) =>
    methods.map((method) => {
      const { face, ...more } = negotiateMethod(method, from);
      return face === 'served' ? 'yes' : face === 'refused' && 'error' in more ? more.error.code : face;
    });

  it.each<[who: string, from: Caller, ...answers: (string | number)[]]>([
    [
      '2026-07-28 with the extension',
      caller('2026-07-28', { clientCapabilities: extension }),
      'yes',
      'yes',
      'yes',
      -32601,
      -32601,
      -32601,
    ],
    ['2026-07-28 without', caller('2026-07-28'), -32021, -32021, -32021, -32601, -32601, -32601],
    ['2025-11-25', caller('2025-11-25'), 'yes', -32601, 'yes', 'yes', 'yes', -32601],
    ['2025-11-25, unlisted', caller('2025-11-25', { declared: unlisted }), 'yes', -32601, 'yes', 'yes', -32601, -32601],
    [
      '2025-11-25, no tasks',
      caller('2025-11-25', { declared: undefined }),
      -32601,
      -32601,
      -32601,
      -32601,
      -32601,
      -32601,
    ],
    ['2025-06-18', caller('2025-06-18'), -32601, -32601, -32601, -32601, -32601, -32601],
    [
      '2025-06-18, first draft spoken',
      caller('2025-06-18', { firstDraft: true }),
      'yes',
      -32601,
      -32601,
      'yes',
      'yes',
      'yes',
    ],
    [
      '2025-11-25, first draft too',
      caller('2025-11-25', { firstDraft: true }),
      'yes',
      -32601,
      'yes',
      'yes',
      'yes',
      -32601,
    ],
  ])('from %s [G2-S-03]', (_, from, ...answers) => {
    expect(served(from)).toEqual(answers);
  });

  it('of a client that moved on in mid-task reaches what it created before, and nothing else', () => {
    const from = caller('2026-07-28', { clientCapabilities: legacyTasks });
    expect(served(from)).toEqual(['served_if_legacy', -32021, 'served_if_legacy', -32601, -32601, -32601]);
    expect(negotiateMethod('tasks/get', from)).toEqual({
      face: 'served_if_legacy',
      revision: '2025-11-25',
      error: expect.objectContaining({ code: -32021, data: { requiredCapabilities: extension } }),
    });
    const both = { ...legacyTasks, ...extension };
    expect(negotiateMethod('tasks/get', caller('2026-07-28', { clientCapabilities: both }))).toEqual({
      face: 'served',
      revision: '2026-07-28',
    });
  });
});
