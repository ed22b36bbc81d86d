/** One logged request; `key` is only the first characters of the key. */
export interface LoggedRequest {
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** 0 if no response was sent. */
  readonly status: number;
  readonly key: string | null;
  /** Kind of the injected fault, if any. */
  readonly fault: string | null;
}

/** Numbers of requests since the start, by outcome. */
export interface Counts {
  total: number;
  readonly byStatus: Record<string, number>;
  readonly byFault: Record<string, number>;
}

/** The server's log of its requests. */
export interface Journal {
  /** In order of arrival; limited to the latest 100,000 to 200,000. */
  readonly requests: LoggedRequest[];
  readonly counts: Counts;
  add(request: LoggedRequest): void;
}

const REQUESTS_MAX = 100_000;

/** Creates an empty journal. */
export function createJournal(): Journal {
  const requests: LoggedRequest[] = [];
  const counts: Counts = { total: 0, byStatus: {}, byFault: {} };
  const add = (request: LoggedRequest): void => {
    if (requests.length >= 2 * REQUESTS_MAX) requests.splice(0, REQUESTS_MAX);
    requests.push(request);
    counts.total++;
    counts.byStatus[request.status] = (counts.byStatus[request.status] ?? 0) + 1;
    if (request.fault !== null) counts.byFault[request.fault] = (counts.byFault[request.fault] ?? 0) + 1;
  };
  return { requests, counts, add };
}
