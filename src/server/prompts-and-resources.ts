import { invalidParams } from '../wire/errors.ts';
import type { Host } from './host.ts';
import { serveOther } from './other-requests.ts';
import type { ServingParts } from './parts.ts';
import { type RawArguments, rememberingRaw } from './raw-schema.ts';
import { asThrown } from './rpc-error.ts';

/** Puts the prompts and resources that run as tasks on a server. */
export function registerOthers(host: Host, parts: ServingParts): void {
  for (const prompt of parts.tasks.prompts) {
    const { argsSchema, ...config } = prompt.config;
    const schema = argsSchema && rememberingRaw(argsSchema);
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
