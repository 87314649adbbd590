// Tells public from private addresses, and resolves names to public ones only.
import { lookup } from 'node:dns';
import { lookup as lookupAll } from 'node:dns/promises';
import type { RequestOptions } from 'node:http';
import { BlockList, isIPv6 } from 'node:net';
import { FetchError } from './fetch-error.ts';

const privateNetworks = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32', // Azure platform services
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
  // IPv6 addresses that contain an IPv4 address; in ::ffff:0:0/96 BlockList checks the IPv4 address itself
  '::/96',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '2001::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];
let privateAddresses: BlockList | undefined;

/** Made when the first address is checked, because the first IPv6 address takes Node 20 ms. */
function makeBlockList(): BlockList {
  const list = new BlockList();
  for (const network of privateNetworks) {
    const [address = '', prefix] = network.split('/');
    list.addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** True for this machine, private networks, and addresses reserved by routers and clouds. */
export function isPrivateAddress(found: string): boolean {
  const address = found.replace(/%.*$/, ''); // without the zone, such as %eth0
  privateAddresses ??= makeBlockList();
  return privateAddresses.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** For `http.request`: the addresses it checks are those it connects to, so a second DNS answer cannot differ. */
export const lookupPublic: NonNullable<RequestOptions['lookup']> = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '');
    if (addresses.some(({ address }) => isPrivateAddress(address))) return callback(privateAddress(hostname), '');
    if (options.all) return callback(null, addresses);
    const [first] = addresses;
    return callback(null, first?.address ?? '', first?.family);
  });
};

/** Whether the host of a URL has addresses, and all of them are public. */
export async function isPublicHost(hostname: string): Promise<boolean> {
  try {
    const found = await lookupAll(hostname.replace(/^\[|\]$/g, ''), { all: true });
    return found.length > 0 && found.every(({ address }) => !isPrivateAddress(address));
  } catch {
    return false;
  }
}

/** Whether a host of a URL has a private address. Only for requests that others make: they may look it up differently. */
export async function isPrivateHost(hostname: string): Promise<boolean> {
  try {
    const found = await lookupAll(hostname.replace(/^\[|\]$/g, ''), { all: true });
    return found.some(({ address }) => isPrivateAddress(address));
  } catch {
    return false; // a name that is not known here
  }
}

export function privateAddress(host: string): FetchError {
  return new FetchError('PRIVATE_ADDRESS', `The address of ${host} is private`);
}
