import type { RpcErrorObject } from '../../core/index.ts';
import { TASKS_EXTENSION } from './names.ts';

const MISSING_CAPABILITY = -32021;

/**
 * The request needs the tasks extension and did not declare it.
 * @see 2026-07-28 schema, `MissingRequiredClientCapabilityError`; SEP-2663, "Capability Negotiation"
 */
export function missingTasksCapability(what: string): RpcErrorObject {
  return {
    code: MISSING_CAPABILITY,
    message: `${what} requires the tasks extension; declare ${TASKS_EXTENSION} in this request's client capabilities`,
    data: { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
  };
}
