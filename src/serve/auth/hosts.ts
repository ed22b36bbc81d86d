/** Cached accepted Host headers, so that each is parsed only once. */
const ACCEPTED_MAX = 64;

/** Rules for the hosts and web pages that the server accepts. */
export interface HostRules {
  /**
   * Whether the Host header names this server. Protects against DNS rebinding, in which a foreign name resolves to
   * loopback.
   */
  acceptsHost(header: string): boolean;
  /** Whether a page of this origin may call the MCP endpoint. */
  acceptsOrigin(origin: string): boolean;
}

/** Settings of the rules. */
export interface HostOptions {
  /** The address to listen on. */
  readonly host: string;
  /** Host names under which the server is reached, beside loopback and the address to listen on. */
  readonly allowedHosts: readonly string[];
  /** Allowed origins, exactly as browsers send them. */
  readonly corsOrigins: readonly string[];
}

/** Returns whether a host name or address is loopback. */
export function isLoopback(host: string): boolean {
  return /^(localhost\.?|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|(::ffff:)?127\.\d+\.\d+\.\d+|\[?::1\]?)$/i.test(host);
}

/**
 * Creates the rules. A server that listens beyond loopback cannot know all its names, so it accepts every Host header unless
 * `allowedHosts` lists its names.
 */
export function createHostRules({ host, allowedHosts, corsOrigins }: HostOptions): HostRules {
  const isOpen = !isLoopback(host) && allowedHosts.length === 0;
  const names = new Set([host, ...allowedHosts].map((name) => normalize(name)));
  const accepted = new Set<string>();
  const acceptsHost = (header: string): boolean => {
    if (isOpen || accepted.has(header)) return true;
    const name = nameOf(header);
    if (name === null || !(isLoopback(name) || names.has(name))) return false;
    if (accepted.size < ACCEPTED_MAX) accepted.add(header);
    return true;
  };
  const acceptsOrigin = (origin: string): boolean => {
    if (corsOrigins.includes(origin)) return true;
    const name = /^https?:\/\/([^/?#@]+)$/i.exec(origin)?.[1];
    const hostName = name === undefined ? null : nameOf(name);
    return hostName !== null && isLoopback(hostName);
  };
  return { acceptsHost, acceptsOrigin };
}

/** Returns the name in a Host header, lower case, without port and brackets; null if the header is invalid. */
export function nameOf(header: string): string | null {
  const match = /^(\[[0-9a-f:.]+\]|[^:@/?#\s]+)(?::\d{1,5})?$/i.exec(header);
  return match === null ? null : normalize(match[1] as string);
}

function normalize(name: string): string {
  return name
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}
