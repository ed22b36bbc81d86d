import type { Implausible } from './implausible.ts';

/** What to ask of upstream: the path below the base URL and its parameters. */
export interface Request {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The path as it is declared, without an id: what may be told of the request. */
  readonly route?: string;
}

/** A request as it was sent, one of possibly several attempts: what the client reports and the ledger keeps. */
export interface Attempt extends Request {
  /** Epoch milliseconds at which it was sent. */
  readonly sentAt: number;
  /** HTTP status, or null when no answer came. */
  readonly status: number | null;
  /** Counted from 1. */
  readonly attempt: number;
  /** How long it waited for the budget. */
  readonly waitedMs: number;
  readonly tookMs: number;
  readonly bytes: number;
  readonly error: string | null;
  /** Values of the response that were ignored because they lie outside their bounds. */
  readonly implausible?: readonly Implausible[];
}
