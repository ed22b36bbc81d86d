import { lookup as lookUp } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/**
 * Whether a host of a URL is a link-local address, at which clouds serve the credentials of the machine: 169.254.0.0/16 (RFC 3927) or
 * fe80::/10 (RFC 4291), also in other notations.
 */
export function isLinkLocal({ hostname }: URL): boolean {
  return isLinkLocalAddress(hostname.replace(/^\[|\]$/g, ''));
}

/** Whether a host of a URL is this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

function isLinkLocalAddress(address: string): boolean {
  const linkLocal = new BlockList();
  linkLocal.addSubnet('169.254.0.0', 16, 'ipv4');
  linkLocal.addSubnet('fe80::', 10, 'ipv6');
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
