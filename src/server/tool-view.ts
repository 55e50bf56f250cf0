import { isJsonObject } from '../core/index.ts';
import { COMPANIONS } from '../wire/companions.ts';
import { negotiateCall } from '../wire/negotiate.ts';
import * as v25 from '../wire/rev2025-11-25/index.ts';
import * as v26 from '../wire/rev2026-07-28/index.ts';
import type { ToolView } from '../wire/tool-list.ts';
import type { ServingParts } from './parts.ts';

/** What the sender of a `tools/list` sees of the tools: those for clients without tasks only if it has none. */
export function viewOf(params: unknown, parts: ServingParts): ToolView {
  const { peer, tasks, limits, companions, declared } = parts;
  const session = peer.era === 'legacy' ? peer.session() : undefined;
  const meta = isJsonObject(params) && isJsonObject(params._meta) ? params._meta : {};
  const clientCapabilities = peer.era === 'modern' ? meta[v26.CLIENT_CAPABILITIES_META_KEY] : undefined;
  const client = peer.era === 'modern' ? v25.readClient(meta[v26.CLIENT_INFO_META_KEY]) : session?.client;
  const knowsTasks =
    peer.era === 'modern' ? v26.declaredCapabilities(clientCapabilities).tasks : sessionKnowsTasks(session);
  if (knowsTasks) return { hidden: companions, detachable: new Set(), followUp: undefined };
  const version = peer.era === 'modern' ? v26.REVISION : session?.version;
  const detachable = tasks.tools.filter((tool) => {
    const { name, support } = tool;
    const { how } = limits.of(tool, { client });
    const call = { version, clientCapabilities, declared, tool: name, support, task: undefined, fallback: how };
    return negotiateCall(call).face === 'fallback';
  });
  return {
    hidden: new Set(),
    detachable: new Set(detachable.flatMap(({ name }) => parts.shownAs(name) ?? [])),
    followUp: companions.has(COMPANIONS.wait) ? COMPANIONS.wait : undefined,
  };
}

/** Whether a session's client can call tools as tasks, if it wants to. */
export function sessionKnowsTasks(session: v25.Session | undefined): boolean {
  return session?.version === v25.REVISION && session.capabilities.tasks.any;
}
