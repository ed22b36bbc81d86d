/** Who is shown the status page's data: holders of a key, or whoever asks from this machine itself. */
export type StatusAccess = 'key' | 'loopback';

/** A job, when it is due next, and how it ended last; times are ISO 8601, UTC. */
export interface JobLine {
  readonly name: string;
  readonly about: string;
  readonly cron: string;
  readonly timeZone: string;
  readonly enabled: boolean;
  readonly steps: readonly string[];
  readonly next: string | null;
  readonly last: {
    readonly status: string;
    readonly startedAt: string;
    readonly endedAt: string;
    readonly error: string | null;
  } | null;
}

/** What the status page is told from above: the rest it finds in the workspace's folder and the published copy. */
export interface StatusParts {
  readonly access: StatusAccess;
  readonly workspace: string;
  /** The workspace's folder. */
  readonly folder: string;
  /** Whether jobs run in this process when they are due. */
  readonly runsJobs: boolean;
  /** The jobs, by what their book says now. */
  jobs(nowMs: number): Promise<readonly JobLine[]>;
}
