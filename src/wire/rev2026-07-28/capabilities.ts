import { isJsonObject, type RequestorAbilities } from '../../core/index.ts';
import { TASKS_EXTENSION } from './names.ts';

export interface DeclaredCapabilities {
  /** This request may be answered with a task, or address one. */
  tasks: boolean;
  abilities: RequestorAbilities;
}

/**
 * What one request declared. Nothing is remembered from earlier requests, and a legacy `tasks` capability says nothing
 * here.
 * @param clientCapabilities the request's own `_meta["io.modelcontextprotocol/clientCapabilities"]`, as received
 * @see SEP-2663, "Capability Negotiation"; 2026-07-28 elicitation, "Capabilities"
 */
export function declaredCapabilities(clientCapabilities: unknown): DeclaredCapabilities {
  const capabilities = isJsonObject(clientCapabilities) ? clientCapabilities : {};
  const { elicitation, sampling, roots } = capabilities;
  return {
    tasks: declaresTasks(capabilities.extensions),
    abilities: {
      form: declaresForm(elicitation),
      url: isJsonObject(elicitation) && isJsonObject(elicitation.url),
      sampling: isJsonObject(sampling),
      roots: isJsonObject(roots),
    },
  };
}

/** Any object means support: its members are settings that later revisions may add. */
function declaresTasks(extensions: unknown): boolean {
  return (
    isJsonObject(extensions) && Object.hasOwn(extensions, TASKS_EXTENSION) && isJsonObject(extensions[TASKS_EXTENSION])
  );
}

/** An empty elicitation capability stands for form mode, which is what it meant before modes existed. */
function declaresForm(elicitation: unknown): boolean {
  if (!isJsonObject(elicitation)) return false;
  return Object.hasOwn(elicitation, 'form') || !Object.hasOwn(elicitation, 'url');
}
