import type {
  HttpCancelOptions,
  HttpIdempotency,
  HttpStartOptions,
  HttpStatusOptions,
  HttpToolOptions,
} from './options.ts';
import { PRESETS, type Preset } from './presets.ts';

/** Options with what they leave out. */
export interface Merged extends HttpToolOptions {
  start: HttpStartOptions;
  status: HttpStatusOptions;
  cancel: HttpCancelOptions | false;
  idempotency: HttpIdempotency | false;
}

/** @throws {TypeError} naming what is no preset. */
export function merged(options: HttpToolOptions): Merged {
  const { preset: name = 'generic-202' } = options;
  if (!Object.hasOwn(PRESETS, name)) {
    throw new TypeError(
      `httpTool: preset must be one of ${Object.keys(PRESETS).join(', ')}, got ${JSON.stringify(name)}`,
    );
  }
  const preset: Preset = PRESETS[name];
  if (typeof options.start?.url !== 'string') throw new TypeError('httpTool: start.url must be a URL');
  return {
    ...options,
    start: { ...preset.start, ...options.start, headers: { ...preset.start.headers, ...options.start.headers } },
    status: { ...preset.status, ...options.status },
    cancel: over(preset.cancel, options.cancel),
    idempotency: over(preset.idempotency, options.idempotency),
  };
}

function over<Part extends object>(preset: Part | false, given: Part | false | undefined): Part | false {
  if (given === undefined) return preset;
  return given === false || preset === false ? given : { ...preset, ...given };
}
