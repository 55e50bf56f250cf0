import { readFileSync } from 'node:fs';

/** Out of the package's own manifest, which lies two folders up from sources and built files alike. */
export function version(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
