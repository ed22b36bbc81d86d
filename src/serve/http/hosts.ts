/** Names accepted whatever they are, remembered so that a Host header is taken apart once. */
const ACCEPTED_MAX = 64;

/** Which hosts and web pages the server answers. */
export interface HostRules {
  /** Whether the Host header names this server: a page that points its own name at loopback (DNS rebinding) does not. */
  acceptsHost(header: string): boolean;
  /** Whether a page of this origin may speak to the assistant's endpoint. */
  acceptsOrigin(origin: string): boolean;
}

/** What the rules follow from. */
export interface HostOptions {
  /** The address that is listened on. */
  readonly host: string;
  /** More host names, for servers on loopback that are reached under another name. */
  readonly allowedHosts: readonly string[];
  /** Origins, exactly as browsers send them. */
  readonly corsOrigins: readonly string[];
}

/** Whether a host name or address means this machine alone. */
export function isLoopback(host: string): boolean {
  return /^(localhost\.?|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|(::ffff:)?127\.\d+\.\d+\.\d+|\[?::1\]?)$/i.test(host);
}

/** Builds the rules. A server that listens beyond loopback is known by names it cannot know, and takes every Host. */
export function createHostRules({ host, allowedHosts, corsOrigins }: HostOptions): HostRules {
  const isOpen = !isLoopback(host);
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

/** The name in a Host header, with or without a port, in lower case and without brackets; null for anything else. */
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
