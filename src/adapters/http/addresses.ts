import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { RefusedError } from './errors.ts';

export interface Address {
  address: string;
  family: 4 | 6;
}

/** All addresses of a host name. */
export type Lookup = (hostname: string) => Promise<readonly Address[]>;

export const systemLookup: Lookup = async (hostname) => (await lookup(hostname, { all: true })) as Address[];

/** Nobody means these: they belong to the link, to the cloud below, or to nobody. @see RFC 6890 and the registries that it began */
const NEVER: readonly string[] = [
  '0.0.0.0/8',
  '169.254.0.0/16', // Link-local: with 169.254.169.254 and the like, where clouds give out credentials.
  '100.100.100.200/32', // The metadata of Alibaba Cloud.
  '168.63.129.16/32', // The host below a machine of Azure.
  '192.0.0.0/24',
  '192.88.99.0/24',
  '224.0.0.0/3', // Multicast, reserved, broadcast.
  '::/128',
  'fe80::/10',
  'fec0::/10',
  'fd00:ec2::/32', // The metadata of AWS, and what else it has there.
  'fd20:ce::254/128', // The metadata of Google Cloud.
  'ff00::/8',
  '2001::/32', // Teredo: an IPv4 address that nobody can tell.
  '64:ff9b:1::/48',
];
const PRIVATE: readonly string[] = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '::1/128',
  'fc00::/7',
];
const METADATA_NAMES = new Set(['metadata', 'metadata.google.internal', 'metadata.goog', 'instance-data']);

const never = blockList(NEVER);
const local = blockList(PRIVATE);

export type AddressKind = 'public' | 'private' | 'never';

/** What may be reached at an address. IPv4 addresses within IPv6 ones count as what they are. */
export function kindOfAddress({ address, family }: Address): AddressKind {
  const type = family === 4 ? 'ipv4' : 'ipv6';
  if (never.check(address, type)) return 'never';
  return local.check(address, type) ? 'private' : 'public';
}

/**
 * The addresses that a host may be reached at. Whoever connects has to take one of these and ask for no others: a name that means
 * another address by then means nothing.
 * @param allowPrivate loopback and private ones too
 * @throws {RefusedError} when one of its addresses must not be reached; it says which setting would allow it.
 */
export async function checkedAddresses(
  hostname: string,
  { allowPrivate, lookup: resolve }: { allowPrivate: boolean; lookup: Lookup },
): Promise<readonly Address[]> {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (METADATA_NAMES.has(host.replace(/\.$/, '').toLowerCase())) {
    throw new RefusedError(`${host} is where clouds give out credentials; it is never reached`);
  }
  const version = isIP(host);
  const addresses = version === 0 ? await resolve(host) : [{ address: host, family: version as 4 | 6 }];
  if (addresses.length === 0) throw Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' });
  for (const address of addresses) {
    const kind = kindOfAddress(address);
    if (kind === 'never')
      throw new RefusedError(`${host} is a link-local, metadata or reserved address, never reached`);
    if (kind === 'private' && !allowPrivate) {
      throw new RefusedError(`${host} is a loopback or private address, which is reached only with allowPrivate: true`);
    }
  }
  return addresses;
}

/** With every IPv4 range also as it looks within IPv6: mapped (Node does that), compatible, NAT64 (RFC 6052), 6to4 (RFC 3056). */
function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = '', bits = ''] = range.split('/');
    const prefix = Number(bits);
    if (isIP(net) === 6) {
      list.addSubnet(net, prefix, 'ipv6');
      continue;
    }
    list.addSubnet(net, prefix, 'ipv4');
    const [a = 0, b = 0, c = 0, d = 0] = net.split('.').map(Number);
    const hex = (high: number, low: number): string => ((high << 8) | low).toString(16);
    list.addSubnet(`64:ff9b::${hex(a, b)}:${hex(c, d)}`, 96 + prefix, 'ipv6');
    list.addSubnet(`2002:${hex(a, b)}:${hex(c, d)}::`, 16 + prefix, 'ipv6');
    if (a !== 0) list.addSubnet(`::${hex(a, b)}:${hex(c, d)}`, 96 + prefix, 'ipv6'); // Not ::1, which is another's.
  }
  return list;
}
