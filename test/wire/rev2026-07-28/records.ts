import fc from 'fast-check';
import type { JsonObject, JsonValue, Question, TaskProgress, TaskRecord, TaskState } from '../../../src/core/index.ts';

// Everything a store can hold of a task, for properties of the codec. Results are what a handler may return: the engine
// lets nothing else be stored.

const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>;
/** Names that break objects with a prototype, among all others. */
const name = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString', 'taskId', 'resultType'));
const object = fc.dictionary(name, json, { maxKeys: 4 }) as fc.Arbitrary<JsonObject>;

const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.string() }),
  fc.record({
    type: fc.constant('image'),
    data: fc.base64String(),
    mimeType: fc.constantFrom('image/png', 'image/jpeg'),
  }),
  fc.record({
    type: fc.constant('resource_link'),
    uri: fc.webUrl(),
    name: fc.string(),
  }),
);

/** `_meta` keys that a result must not bring along, and one that it may. */
const meta = fc.dictionary(
  fc.constantFrom(
    'longcall/outcome',
    'io.modelcontextprotocol/related-task',
    'modelcontextprotocol.io/related-task',
    'example.com/kept',
  ),
  json,
);

export const result = fc.record(
  {
    content: fc.array(block, { maxLength: 3 }),
    structuredContent: object,
    isError: fc.boolean(),
    resultType: fc.constantFrom('task', 'input_required', 'complete'),
    _meta: meta,
  },
  { requiredKeys: ['content'] },
) as fc.Arbitrary<JsonObject>;

const field = fc.oneof(
  fc.record({ type: fc.constant('string'), title: fc.string(), minLength: fc.nat() }),
  fc.record({ type: fc.constantFrom('number', 'integer'), minimum: fc.integer() }),
  fc.record({ type: fc.constant('boolean'), default: fc.boolean() }),
  fc.record({ type: fc.constant('string'), enum: fc.array(fc.string(), { minLength: 1 }) }),
);

const question: fc.Arbitrary<Question> = fc.record({
  kind: fc.constant('form' as const),
  message: fc.string(),
  schema: fc.record({
    type: fc.constant('object'),
    properties: fc.dictionary(fc.string(), field, { maxKeys: 3 }),
  }) as fc.Arbitrary<JsonObject>,
});

const state: fc.Arbitrary<TaskState> = fc.oneof(
  fc.constant<TaskState>({ status: 'working' }),
  fc.record({
    status: fc.constant('input_required' as const),
    inputRequests: fc.dictionary(name, question, { minKeys: 1, maxKeys: 3 }),
  }),
  fc.record({ status: fc.constant('completed' as const), result }),
  fc.record({
    status: fc.constant('failed' as const),
    error: fc.record(
      { code: fc.integer(), message: fc.string({ minLength: 1 }), data: json },
      { requiredKeys: ['code', 'message'] },
    ),
  }),
  fc.record({ status: fc.constant('cancelled' as const), reason: fc.string() }, { requiredKeys: ['status'] }),
);

const progress: fc.Arbitrary<TaskProgress> = fc.record(
  {
    progress: fc.double({ noNaN: true, noDefaultInfinity: true }),
    total: fc.double({ noNaN: true, noDefaultInfinity: true }),
    message: fc.string(),
  },
  { requiredKeys: ['progress'] },
);

const moment = fc.integer({ min: 0, max: Date.UTC(2200, 0, 1) });

export const record: fc.Arbitrary<TaskRecord> = fc
  .record(
    {
      taskId: fc.string({ minLength: 1 }),
      principal: fc.record({ subject: fc.string() }),
      method: fc.constant('tools/call'),
      name: fc.string(),
      state,
      statusMessage: fc.string(),
      progress,
      createdAt: moment,
      age: fc.nat(),
      ttlMs: fc.option(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
      expiresAt: fc.option(moment),
      keepResultMs: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      started: fc.boolean(),
      pollIntervalMs: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      attempt: fc.nat(),
      version: fc.nat(),
      revision: fc.constant('2026-07-28'),
    },
    {
      requiredKeys: [
        'taskId',
        'principal',
        'method',
        'name',
        'state',
        'createdAt',
        'age',
        'ttlMs',
        'expiresAt',
        'keepResultMs',
        'started',
        'attempt',
        'version',
        'revision',
      ],
    },
  )
  .map(({ age, ...rest }) => ({ ...rest, updatedAt: rest.createdAt + age }) as TaskRecord);
