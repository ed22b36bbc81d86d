/** All limits of the HTTP server; tests use smaller ones. */
export interface HttpLimits {
  /** Maximum URL length in characters; longer ones are rejected with 414. */
  readonly urlCharactersMax: number;
  /** Maximum size of request line and headers in bytes; rejected with 431. */
  readonly headerBytesMax: number;
  /** Maximum body of an MCP request in bytes; rejected with 413. */
  readonly bodyBytesMax: number;
  readonly connectionsMax: number;
  /** Concurrent computations of distinct responses; rejected with 503. */
  readonly computationsMax: number;
  /** Complete lists that are sent at the same time; further ones are rejected with 503. Each keeps its replica open. */
  readonly listsMax: number;
  /** Time allowed for sending a complete list. */
  readonly listMs: number;
  /** Size of the response cache in bytes. */
  readonly cacheBytesMax: number;
  /** Wrong keys per address and minute; further ones are rejected with 429. */
  readonly wrongKeysMax: number;
  readonly addressesMax: number;
  /** Requests of pages per key and minute; further ones are rejected with 429. A page sends about 12 for each change of a filter. */
  readonly pageRequestsMax: number;
  /** Time allowed for sending the headers, and for sending the complete request. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Idle time of a connection: between requests, and within one. */
  readonly keepAliveTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** Time allowed for finishing requests in progress when the server stops. */
  readonly drainMs: number;
}

/** Default limits. An 8 kB key or a 16 kB URL fits into the headers, so that each gets its specific error. */
export const HTTP_LIMITS: HttpLimits = {
  urlCharactersMax: 8 * 1024,
  headerBytesMax: 32 * 1024,
  bodyBytesMax: 1024 * 1024,
  connectionsMax: 4_096,
  computationsMax: 256,
  listsMax: 32,
  listMs: 3_600_000,
  cacheBytesMax: 32 * 1024 * 1024,
  wrongKeysMax: 30,
  addressesMax: 10_000,
  pageRequestsMax: 3_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
  idleTimeoutMs: 120_000,
  drainMs: 10_000,
};
