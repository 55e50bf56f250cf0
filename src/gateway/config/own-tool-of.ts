import type { JsonObject } from '../../core/index.ts';
import type { ToolAnnotations } from '../../engine/index.ts';
import { inputSchemaOf } from './input-schema.ts';
import { policyOf, type WrittenPolicy } from './policy-of.ts';
import { inside, type Sheet } from './sheet.ts';
import type { OwnToolConfig } from './types.ts';

/** What stands in the file of every tool of the gateway's own, checked: what is wrong is not in it. */
export interface WrittenOwnTool extends Omit<WrittenPolicy, 'mode' | 'slowAfter'> {
  title?: string;
  description?: string;
  input?: JsonObject;
  annotations?: ToolAnnotations;
}

/** What all of them have, but for the secrets; `undefined` after a problem. */
export function ownToolOf(
  pointer: string,
  name: string,
  written: WrittenOwnTool,
  sheet: Sheet,
): Omit<OwnToolConfig, 'secrets'> | undefined {
  const { title, description, annotations } = written;
  const input = inputSchemaOf(inside(pointer, 'input'), written.input, sheet);
  if (input === undefined) return undefined;
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    input,
    ...(annotations !== undefined && { annotations: { ...annotations } }),
    policy: policyOf(written),
  };
}
