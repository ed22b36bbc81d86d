/** One request as it was answered; `key` is only the start of the key. */
export interface LoggedRequest {
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** 0 where no answer was sent. */
  readonly status: number;
  readonly key: string | null;
  /** The fault it suffered, if any. */
  readonly fault: string | null;
}

/** Requests by outcome, since the start. */
export interface Counts {
  total: number;
  readonly byStatus: Record<string, number>;
  readonly byFault: Record<string, number>;
}

/** What the server remembers of its requests. */
export interface Journal {
  /** In order of arrival; only the latest when there were very many. */
  readonly requests: LoggedRequest[];
  readonly counts: Counts;
  add(request: LoggedRequest): void;
}

const REQUESTS_MAX = 100_000;

/** An empty journal. */
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
