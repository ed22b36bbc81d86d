import type { Implausible } from './implausible.ts';

/** A request to upstream: path relative to the base URL, and query parameters. */
export interface Request {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Declared path without ids, safe for traces and logs. */
  readonly route?: string;
  /** Whether a rejection of this request, such as 400 or 404, is an answer and not a failure; default: false. */
  readonly mayReject?: boolean;
}

/** One attempt of a request, as reported by the client and stored in the ledger. */
export interface Attempt extends Request {
  /** Send time in epoch milliseconds. */
  readonly sentAt: number;
  /** HTTP status; null if no response was received. */
  readonly status: number | null;
  /** Attempt number, starting at 1. */
  readonly attempt: number;
  /** Time spent waiting for the budget. */
  readonly waitedMs: number;
  readonly tookMs: number;
  readonly bytes: number;
  readonly error: string | null;
  /** Values of the response that were ignored because they are out of bounds. */
  readonly implausible?: readonly Implausible[];
}
