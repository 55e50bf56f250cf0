import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ANONYMOUS_PRINCIPAL, LOCAL_PRINCIPAL } from '../../../src/core/index.ts';
import {
  declaredCapabilities,
  mayList,
  tasksCapability,
  toolExecution,
} from '../../../src/wire/rev2025-11-25/index.ts';
import { schemaProblems } from '../../spec/schemas.ts';

describe('what a server says of its tasks', () => {
  it('goes down to the innermost member, and names no other request', () => {
    const tasks = tasksCapability(['forbidden', 'optional'], { list: true });
    expect(tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } });
    expect(schemaProblems('core-2025-11-25', 'ServerCapabilities', { tasks })).toEqual([]);
  });

  it('is nothing where no tool can be one', () => {
    expect(tasksCapability(['forbidden'], { list: true })).toBeUndefined();
    expect(tasksCapability([], { list: true })).toBeUndefined();
    expect(tasksCapability(['required'], { list: true })).toBeDefined();
  });

  it('has no list for requestors it cannot tell apart [G2-S-61]', () => {
    expect(mayList(ANONYMOUS_PRINCIPAL)).toBe(false);
    const tasks = tasksCapability(['optional'], { list: mayList(ANONYMOUS_PRINCIPAL) });
    expect(tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
    expect(schemaProblems('core-2025-11-25', 'ServerCapabilities', { tasks })).toEqual([]);
    expect(mayList(LOCAL_PRINCIPAL)).toBe(true);
    expect(mayList({ tenant: 'a', subject: 'ada' })).toBe(true);
  });

  it.each(['forbidden', 'optional', 'required'] as const)('of a tool that is %s [G2-S-70]', (support) => {
    const tool = { name: 't', inputSchema: { type: 'object' }, execution: toolExecution(support) };
    expect(tool.execution).toEqual({ taskSupport: support });
    expect(schemaProblems('core-2025-11-25', 'Tool', tool)).toEqual([]);
  });
});

describe('what a client declared', () => {
  const none = { any: false, elicitation: false, sampling: false, list: false, cancel: false };

  it.each([
    [undefined, false, false],
    [true, false, false],
    [[], false, false],
    [{}, true, false],
    [{ form: {} }, true, false],
    [{ form: {}, url: {} }, true, true],
    [{ url: {} }, false, true],
  ])('with elicitation %j: form %s, url %s', (elicitation, form, url) => {
    expect(declaredCapabilities({ elicitation })).toMatchObject({ abilities: { form, url } });
  });

  it.each(['2025-06-18', '2025-03-26', '2024-11-05'])('before there were modes, in %s: forms alone', (version) => {
    for (const elicitation of [{}, { url: {} }, { form: {}, url: {} }]) {
      expect(declaredCapabilities({ elicitation }, version)).toMatchObject({ abilities: { form: true, url: false } });
    }
  });

  it.each([
    [{}, false],
    [{ sampling: {} }, true],
    [{ sampling: { tools: {} } }, true],
    [{ sampling: null }, false],
  ])('with %j: sampling %s', (capabilities, sampling) => {
    expect(declaredCapabilities(capabilities).abilities.sampling).toBe(sampling);
  });

  it.each([
    [{}, none],
    [{ tasks: {} }, { ...none, any: true }],
    [{ tasks: { list: {}, cancel: {} } }, { ...none, any: true, list: true, cancel: true }],
    // One level short is no support.
    [{ tasks: { requests: { elicitation: {}, sampling: {} } } }, { ...none, any: true }],
    [{ tasks: { requests: { elicitation: { create: {} } } } }, { ...none, any: true, elicitation: true }],
    [{ tasks: { requests: { sampling: { createMessage: {} } } } }, { ...none, any: true, sampling: true }],
    [{ tasks: { requests: { tools: { call: {} } } } }, { ...none, any: true }],
    [{ tasks: true }, none],
    [{ extensions: { 'io.modelcontextprotocol/tasks': {} } }, none],
    [Object.create({ tasks: { list: {} } }), none],
  ])('of its own tasks: %j', (capabilities, tasks) => {
    expect(declaredCapabilities(capabilities).tasks).toEqual(tasks);
  });

  it('is read from anything, and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.anything()), (value) => {
        expect(declaredCapabilities(value).abilities).toMatchObject({ form: expect.any(Boolean) });
        expect(declaredCapabilities({ tasks: value, elicitation: value }).abilities.url).toEqual(expect.any(Boolean));
      }),
    );
  });
});
