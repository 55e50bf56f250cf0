import type { StandardSchema } from '../core/index.ts';
import type { RegisteredTaskPrompt } from '../engine/index.ts';
import { invalidParams } from '../wire/errors.ts';
import type { Host } from './host.ts';
import { serveOther } from './other-requests.ts';
import type { ServingParts } from './parts.ts';
import { type RawArguments, rememberingRaw } from './raw-schema.ts';
import { asThrown } from './rpc-error.ts';

const servedSchemas = new WeakMap<RegisteredTaskPrompt, StandardSchema<unknown, RawArguments>>();

/** Puts the prompts and resources that run as tasks on a server. */
export function registerOthers(host: Host, parts: ServingParts): void {
  for (const prompt of parts.tasks.prompts) {
    const { argsSchema, ...config } = prompt.config;
    const schema = argsSchema === undefined ? undefined : schemaOf(prompt, argsSchema);
    host.registerPrompt(
      prompt.name,
      { ...config, ...(schema !== undefined && { argsSchema: schema }) },
      (args, ctx) => {
        const { raw, problem } = (args ?? { raw: {}, parsed: {} }) as RawArguments;
        if (problem !== undefined) {
          return Promise.reject(asThrown(invalidParams(`params.arguments of prompt ${prompt.name}: ${problem}`)));
        }
        return serveOther(prompt, raw ?? {}, ctx, parts);
      },
    );
  }
  for (const resource of parts.tasks.resources) {
    host.registerReadable(resource.name, resource.uri, resource.config, (uri, variables, ctx) =>
      serveOther(resource, { uri: uri.href, variables: { ...variables } }, ctx, parts),
    );
  }
}

/** Made once, since servers come per request. */
function schemaOf(prompt: RegisteredTaskPrompt, schema: StandardSchema): StandardSchema<unknown, RawArguments> {
  const made = servedSchemas.get(prompt) ?? rememberingRaw(schema);
  servedSchemas.set(prompt, made);
  return made;
}
