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

const RESOURCE_NOT_FOUND = -32_002;
const MISSING_CAPABILITY_DRAFT = -32_003;
/** Of 2025-11-25: pages have to be visited first. */
export const URL_NEEDED = -32_042;

/** An error that was made by the rules of an earlier revision: codes that this one must not be given are told in its own. @see 26/basic, "Error Codes" */
export function modernError(error: RpcErrorObject): RpcErrorObject {
  switch (error.code) {
    case RESOURCE_NOT_FOUND:
      return { ...error, code: -32_602 };
    case MISSING_CAPABILITY_DRAFT:
      return { ...error, code: -32_021 };
    case URL_NEEDED:
      return { ...error, code: -32_603 };
    default:
      return { ...error };
  }
}
