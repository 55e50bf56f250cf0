const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const BYTES: Readonly<Record<string, number>> = { B: 1, KiB: 1_024, MiB: 1_048_576, GiB: 1_073_741_824 };

/** Of `10s`, `5m`, `1h`, `7d`, as the schema has checked it. */
export function milliseconds(text: string): number {
  return product(text, MILLISECONDS);
}

/** Of `512KiB`, `4MiB`, as the schema has checked it. */
export function bytes(text: string): number {
  return product(text, BYTES);
}

function product(text: string, units: Readonly<Record<string, number>>): number {
  const [, count, unit = ''] = /^(\d+)([A-Za-z]+)$/.exec(text) ?? [];
  const size = units[unit];
  if (count === undefined || size === undefined) throw new TypeError('a number and its unit were expected');
  return Number(count) * size;
}
