export interface Address {
  host: string;
  port: number;
}

export const MAX_PORT = 65_535;
/** Where a gateway listens if nothing else is said. */
export const LISTEN: Address = { host: '127.0.0.1', port: 7717 };

/** `HOST:PORT`, `[IPv6]:PORT`. */
export function parseAddress(text: string): Address | undefined {
  const [, host, port] = /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})$/.exec(text) ?? [];
  if (host === undefined || Number(port) > MAX_PORT) return undefined;
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}
