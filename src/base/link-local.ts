import { lookup as lookUp } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** IPv4 addresses that are refused: 169.254.0.0/16 (RFC 3927), and the address of the credentials at a cloud that uses none of these. */
const REFUSED_V4 = [
  ['169.254.0.0', 16],
  ['100.100.100.200', 32],
] as const;
/**
 * IPv6 addresses that are refused: fe80::/10 (RFC 4291), the address of the credentials at a cloud, and 169.254.0.0/16 within an IPv6
 * address: IPv4-compatible, translated (RFC 2765), NAT64 (RFC 6052, RFC 8215) and 6to4 (RFC 3056). `BlockList` itself maps
 * `::ffff:0:0/96` to IPv4.
 */
const REFUSED_V6 = [
  ['fe80::', 10],
  ['fd00:ec2::254', 128],
  ['::a9fe:0', 112],
  ['::ffff:0:a9fe:0', 112],
  ['64:ff9b::a9fe:0', 112],
  ['64:ff9b:1::a9fe:0', 112],
  ['2002:a9fe::', 32],
] as const;

/** Whether a host of a URL is a link-local address, at which clouds serve the credentials of the machine, also in other notations. */
export function isLinkLocal({ hostname }: URL): boolean {
  return isLinkLocalAddress(hostname.replace(/^\[|\]$/g, ''));
}

/** Whether a host of a URL is this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(localhost\.?|127(\.\d+){3}|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\])$/.test(hostname);
}

/** Whether a text is an IP address, or a network such as 10.0.0.0/8. */
export function isNetwork(text: string): boolean {
  return isIP(text.split('/')[0] as string) !== 0;
}

/** Whether an IP address is in a network, which may be a single address. */
export function isWithin(address: string, network: string): boolean {
  const [start = '', bits] = network.split('/');
  const version = isIP(start);
  const most = version === 4 ? 32 : 128;
  if (version === 0 || isIP(address) !== version || !/^\d{1,3}$/.test(bits ?? `${most}`)) return false;
  if (Number(bits ?? most) > most) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const networks = new BlockList();
  networks.addSubnet(start, Number(bits ?? most), family);
  return networks.check(address, family);
}

function isLinkLocalAddress(address: string): boolean {
  const linkLocal = new BlockList();
  for (const [network, bits] of REFUSED_V4) linkLocal.addSubnet(network, bits, 'ipv4');
  for (const [network, bits] of REFUSED_V6) linkLocal.addSubnet(network, bits, 'ipv6');
  const version = isIP(address);
  return version !== 0 && linkLocal.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/** Looks up a name like `dns.lookup`, and fails with the code ELINKLOCAL if one of its addresses is link-local. */
export const lookUpPublic: LookupFunction = (hostname, options, done) => {
  lookUp(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return done(error, '', 0);
    if (addresses.some(({ address }) => isLinkLocalAddress(address)))
      return done(Object.assign(new Error(`${hostname} is a link-local address`), { code: 'ELINKLOCAL' }), '', 0);
    if (options.all === true) return done(null, addresses);
    const [{ address, family } = { address: '', family: 0 }] = addresses;
    return done(null, address, family);
  });
};
