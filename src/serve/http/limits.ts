/** Every bound of the HTTP side, in one place; tests shrink them. */
export interface HttpLimits {
  /** Longest address, in characters: a longer one is a 414. */
  readonly urlCharactersMax: number;
  /** Request line and headers together, in bytes: more is a 431. */
  readonly headerBytesMax: number;
  /** Largest body of an MCP request, in bytes: more is a 413. */
  readonly bodyBytesMax: number;
  readonly connectionsMax: number;
  /** Answers being computed at once, equal questions counted once: more is a 503. */
  readonly computationsMax: number;
  /** Finished answers kept, in bytes. */
  readonly cacheBytesMax: number;
  /** Wrong keys from one address in a minute: beyond it they are a 429. */
  readonly wrongKeysMax: number;
  readonly addressesMax: number;
  /** How long a client may take for its headers, and for the whole of its request. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How long a connection may stand still: between requests, and within one. */
  readonly keepAliveTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** How long requests under way may take to finish when the server stops. */
  readonly drainMs: number;
}

/** The bounds in use. A key of 8 kB and an address of 16 kB fit into the headers, so that each gets its own answer. */
export const HTTP_LIMITS: HttpLimits = {
  urlCharactersMax: 8 * 1024,
  headerBytesMax: 32 * 1024,
  bodyBytesMax: 1024 * 1024,
  connectionsMax: 4_096,
  computationsMax: 256,
  cacheBytesMax: 64 * 1024 * 1024,
  wrongKeysMax: 30,
  addressesMax: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
  idleTimeoutMs: 120_000,
  drainMs: 10_000,
};
