/** Severity: `good`, `busy` (work in progress), `attention` (should be checked), `problem` (does not work). */
export type Level = 'good' | 'busy' | 'attention' | 'problem';

/** A message for the operator, and the command that helps. */
export interface Finding {
  readonly level: Level;
  readonly about: 'replica' | 'data' | 'jobs' | 'keys';
  readonly sentence: string;
  /** Without the program's name; null if there is none. */
  readonly command: string | null;
  /** Sentences about other states that have the same cause and end with it. */
  readonly consequences: readonly string[];
}

/** A job, its next due time and its last result; times are ISO 8601, UTC. */
export interface JobLine {
  readonly name: string;
  readonly about: string;
  readonly cron: string;
  readonly timeZone: string;
  readonly enabled: boolean;
  readonly steps: readonly string[];
  readonly next: string | null;
  /** When the job was last due if it has not run since; null if it is not late. */
  readonly overdueSince: string | null;
  readonly last: {
    readonly status: string;
    readonly startedAt: string;
    readonly endedAt: string;
    readonly error: string | null;
  } | null;
}

/** A destination and its last load; times are ISO 8601, UTC. */
export interface DestinationLine {
  readonly name: string;
  readonly last: {
    readonly kind: string;
    readonly at: string;
    readonly error: string | null;
    readonly loadedAt: string | null;
    readonly rows: number | null;
    readonly dataVersion: number | null;
  } | null;
  readonly next: 'everything' | 'changes' | 'nothing' | null;
}

/** A published snapshot, as /snapshots lists it. */
export interface SnapshotLine {
  readonly id: string;
  readonly createdAt: string;
  readonly rows: number;
  readonly bytes: number;
  readonly files: number;
  readonly manifest: string;
}

/** Requests sent to upstream in the last hour. */
export interface BudgetHour {
  /** Allowed requests per minute: as reported to a running sync or to an earlier one on this machine, otherwise as documented. */
  readonly limit: number;
  readonly isDocumented: boolean;
  /** Requests that can be sent now; null if no sync is running. */
  readonly left: number | null;
  /** Requests in each of the last 60 minutes, the current minute last. */
  readonly minutes: readonly number[];
}
