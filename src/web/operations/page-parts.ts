/**
 * Access to the data of the status page: `key` requires a key, `loopback` also allows direct requests from this machine.
 */
export type StatusAccess = 'key' | 'loopback';

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

/** Input of the status page. The rest is read from the workspace's folder and the replica. */
export interface StatusParts {
  readonly access: StatusAccess;
  readonly workspace: string;
  /** Path of the workspace's folder. */
  readonly folder: string;
  /** Whether this process runs jobs when they are due. */
  readonly runsJobs: boolean;
  /** Returns the jobs, with their results from the job log. */
  jobs(nowMs: number): Promise<readonly JobLine[]>;
}
