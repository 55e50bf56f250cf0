import { RemoteRefusedError } from '../../client/remote-errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import type { FrontCall, FrontTool, FrontView } from '../../server/front/front.ts';
import { asThrown } from '../../server/rpc-error.ts';
import { isLogLevel } from '../../wire/relayed.ts';
import type { Lane } from '../lanes/lane.ts';
import { passOn } from './direct.ts';

/** An upstream as one caller sees it. */
export interface Behind {
  name: string;
  prefix: string;
  lane: Lane;
  /** By the name under which they are called here. */
  tools: ReadonlyMap<string, FrontTool>;
  subscribe(uri: string, sessionId: string): Promise<void>;
  unsubscribe(uri: string, sessionId: string): Promise<void>;
}

const INVALID_PARAMS = -32_602;
const RESOURCE_NOT_FOUND = -32_002;
/** An upstream that always has another page would never be done. */
const MAX_PAGES = 1_000;

type Serve = (behind: readonly Behind[], call: FrontCall) => Promise<JsonObject>;

/** What is served of whoever stands behind, by method. */
const methods: Record<string, Serve> = {
  'prompts/list': (behind, call) => listed('prompts/list', 'prompts', 'prompts', behind, call),
  'resources/list': (behind, call) => listed('resources/list', 'resources', 'resources', behind, call),
  'resources/templates/list': (behind, call) =>
    listed('resources/templates/list', 'resourceTemplates', 'resources', behind, call),
  'prompts/get': async (behind, call) => {
    const { of, name } = byName(behind, call.params.name, 'prompt');
    return passOn(of.lane, 'prompts/get', { ...paramsOf(call), name }, call);
  },
  'resources/read': (behind, call) =>
    byUri(behind, call, (of) => passOn(of.lane, 'resources/read', paramsOf(call), call)),
  'resources/subscribe': (behind, call) =>
    byUri(subscribable(behind), call, async (of) => {
      await subscribed(of.subscribe(String(call.params.uri), call.sessionId));
      return {};
    }),
  'resources/unsubscribe': (behind, call) =>
    byUri(subscribable(behind), call, async (of) => {
      await subscribed(of.unsubscribe(String(call.params.uri), call.sessionId));
      return {};
    }),
  'completion/complete': async (behind, call) => {
    const { ref } = call.params;
    if (!isJsonObject(ref)) throw invalid('params.ref: expected an object');
    if (typeof ref.uri === 'string') {
      return byUri(behind, call, (of) => passOn(of.lane, 'completion/complete', paramsOf(call), call), ref.uri);
    }
    const { of, name } = byName(behind, ref.name, 'prompt');
    return passOn(of.lane, 'completion/complete', { ...paramsOf(call), ref: { ...ref, name } }, call);
  },
  'logging/setLevel': async (behind, call) => {
    const { level } = call.params;
    if (!isLogLevel(level)) throw invalid('params.level: expected a level of logging');
    for (const { lane } of behind) {
      if (!offers(lane, 'logging')) continue;
      if (lane.link.era === 'modern') lane.setLevelOf(call.sessionId, level);
      else await passOn(lane, 'logging/setLevel', paramsOf(call), call);
    }
    return {};
  },
};

/** What all of them together are to one caller. @param options.single there is but one, which this side stands in for */
export function viewOf(behind: readonly Behind[], { single }: { single: boolean }): FrontView {
  const tools = new Map(behind.flatMap(({ tools: own }) => [...own]));
  return {
    portrait: {
      serverInfo: single ? behind[0]?.lane.link.serverInfo : undefined,
      instructions: single ? behind[0]?.lane.link.instructions : instructionsOf(behind),
      capabilities: behind.map(({ lane }) => foreign(lane.link.capabilities)).reduce(either, {}),
    },
    tools,
    async serve(method, call) {
      const serve = Object.hasOwn(methods, method) ? methods[method] : undefined;
      return serve === undefined ? undefined : serve(behind, call);
    },
  };
}

/** What is passed on of what an upstream declares: nothing about tasks, which this side has its own of. */
function foreign({ prompts, resources, completions, logging, tools }: JsonObject): JsonObject {
  const all = { prompts, resources, completions, logging, tools };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as JsonObject;
}

/** What one or the other can do. */
function either(one: JsonObject, other: JsonObject): JsonObject {
  const both = Object.entries(other).map(([name, can]): [string, JsonValue] => {
    const could = one[name];
    if (isJsonObject(could) && isJsonObject(can)) return [name, either(could, can)];
    return [name, could === true ? true : can];
  });
  return { ...one, ...Object.fromEntries(both) };
}

/** Those that say so, or all, to be told what they say. */
function subscribable(behind: readonly Behind[]): readonly Behind[] {
  const able = behind.filter(({ lane }) => {
    const { resources } = lane.link.capabilities;
    return isJsonObject(resources) && resources.subscribe === true;
  });
  return able.length > 0 ? able : behind;
}

function instructionsOf(behind: readonly Behind[]): string | undefined {
  const said = behind.flatMap(({ name, lane: { link } }) =>
    link.instructions === undefined ? [] : [{ name, text: link.instructions }],
  );
  return said.length === 0 ? undefined : said.map(({ name, text }) => `${name}:\n${text}`).join('\n\n');
}

/** The upstream's error as it is. */
async function subscribed(asked: Promise<void>): Promise<void> {
  try {
    await asked;
  } catch (error) {
    throw error instanceof RemoteRefusedError ? asThrown(error.rpc) : error;
  }
}

function paramsOf({ params }: FrontCall): JsonObject {
  const { _meta, ...rest } = params;
  return rest;
}

function offers({ link }: Lane, capability: string): boolean {
  return link.capabilities[capability] !== undefined;
}

/** One upstream's pages as they are; the lists of several put together, on one page. */
async function listed(
  method: string,
  member: string,
  capability: string,
  behind: readonly Behind[],
  call: FrontCall,
): Promise<JsonObject> {
  const offering = behind.filter(({ lane }) => offers(lane, capability));
  const [only, another] = offering;
  if (only === undefined) return { [member]: [] };
  if (another === undefined) {
    return withPrefix(await passOn(only.lane, method, paramsOf(call), call), member, only.prefix);
  }
  const lists = await Promise.all(
    offering.map(async ({ lane, prefix }) => {
      const found: JsonValue[] = [];
      let params: JsonObject = {};
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const answer = withPrefix(await passOn(lane, method, params, call), member, prefix);
        if (Array.isArray(answer[member])) found.push(...answer[member]);
        if (typeof answer.nextCursor !== 'string') break;
        params = { cursor: answer.nextCursor };
      }
      return found;
    }),
  );
  return { [member]: lists.flat() };
}

/** Only prompts are called by names that could clash; addresses are what they are. */
function withPrefix(answer: JsonObject, member: string, prefix: string): JsonObject {
  const list = answer[member];
  if (prefix === '' || member !== 'prompts' || !Array.isArray(list)) return answer;
  const named = list.map((one) => (isJsonObject(one) ? { ...one, name: `${prefix}${String(one.name)}` } : one));
  return { ...answer, [member]: named };
}

function byName(behind: readonly Behind[], name: JsonValue | undefined, what: string): { of: Behind; name: string } {
  if (typeof name !== 'string') throw invalid(`name of a ${what}: expected a string`);
  // Of two that fit, the longer prefix says more.
  const fitting = behind.filter(({ prefix }) => name.startsWith(prefix));
  const [of] = fitting.sort((one, other) => other.prefix.length - one.prefix.length);
  if (of === undefined) throw invalid(`Unknown ${what}: ${name}`);
  return { of, name: name.slice(of.prefix.length) };
}

/** The first that knows the address: who it belongs to is nowhere said. */
async function byUri(
  behind: readonly Behind[],
  { params }: FrontCall,
  ask: (of: Behind) => Promise<JsonObject>,
  uri: JsonValue | undefined = params.uri,
): Promise<JsonObject> {
  if (typeof uri !== 'string') throw invalid('params.uri: expected a string');
  const offering = behind.filter(({ lane }) => offers(lane, 'resources'));
  let refused: unknown;
  for (const of of offering) {
    try {
      return await ask(of);
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (offering.length === 1 || (code !== RESOURCE_NOT_FOUND && code !== INVALID_PARAMS)) throw error;
      refused ??= error;
    }
  }
  throw refused ?? asThrown({ code: INVALID_PARAMS, message: `Resource not found: ${uri}`, data: { uri } });
}

function invalid(message: string): Error {
  return asThrown({ code: INVALID_PARAMS, message });
}
