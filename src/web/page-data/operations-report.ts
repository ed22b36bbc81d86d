import type { BudgetHour, DestinationLine, Finding, JobLine, SnapshotLine } from './status-lines.ts';

/** The running sync, as the server reports it. */
export interface RunningSync {
  readonly command: string;
  readonly pid: number;
  readonly startedAt: string;
  readonly requests: number;
  readonly waitedMs: number;
  readonly rows: number;
  readonly done: number;
  readonly expected: number;
  readonly secondsToGo: number | null;
  readonly budget: { readonly limit: number; readonly capacity: number; readonly left: number };
  readonly resources: readonly {
    readonly name: string;
    readonly done: number;
    readonly expected: number;
    readonly rows: number;
    readonly failed: number;
  }[];
}

export interface BrandStatus {
  readonly brandId: string;
  readonly name: string | null;
  readonly verifiedThrough: string | null;
  readonly verifiedAt: string | null;
  readonly differingDays: number;
}

export interface ResourceStatus {
  readonly resource: string;
  readonly gaps: readonly { readonly brandId: string; readonly from: string; readonly to: string }[];
  readonly gapDays: number;
  readonly gapBrands: readonly { readonly brandId: string; readonly days: number }[];
  readonly unfinished: number;
  /** Set if its declaration was inferred. */
  readonly generic?: true | undefined;
}

export interface FreshnessRow {
  readonly resource: string;
  readonly scope: string;
  /** In seconds since 1970, in the order of the brands; a single value for resources of the workspace. */
  readonly readAt: readonly (number | null)[];
  readonly partial: string;
}

export interface Calendar {
  readonly brandId: string;
  readonly months: readonly { readonly month: string; readonly days: string }[];
  readonly counts: Readonly<Record<string, number>>;
}

export interface Run {
  readonly runId: string;
  readonly status: string;
  readonly startedAt: string;
  readonly durationMs: number | null;
  readonly error: string | null;
  readonly requests: number;
  readonly retries: number;
  readonly wasted: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  readonly bytes: number;
}

export interface Drift {
  readonly resource: string;
  readonly path: string;
  readonly kind: string;
  readonly detail: string | null;
  readonly count: number;
  readonly lastSeenAt: number;
  readonly example: string | null;
}

export interface Quarantined {
  readonly resource: string;
  readonly reason: string;
  readonly lastSeenAt: string;
  readonly item: string;
}

export interface CalibratedPoint {
  readonly name: string;
  readonly about: string;
  readonly text: string;
  readonly state: string;
  readonly compared: number;
  readonly agreed: number;
}

export interface Replica {
  readonly status: {
    readonly freshness: { readonly asOf: string | null } | null;
    readonly resources: readonly ResourceStatus[];
    readonly brands: readonly BrandStatus[];
    readonly quarantined: number;
    readonly drift: readonly { readonly isNew: boolean }[];
    readonly unlearned: readonly { readonly name: string }[];
    readonly comparison: {
      readonly at: string;
      readonly compared: number;
      readonly equal: number;
      readonly differing: readonly string[];
    } | null;
  };
  readonly freshness: readonly FreshnessRow[];
  readonly calendars: readonly Calendar[];
  readonly brandsLeftOut: number;
  readonly runs: readonly Run[];
  readonly quarantine: readonly Quarantined[];
  readonly drift: readonly Drift[];
  readonly points: readonly CalibratedPoint[];
}

/** The response of `/status/data`; times are ISO 8601, UTC, unless stated otherwise. */
export interface OperationsReport {
  readonly now: string;
  readonly version: string;
  readonly workspace: string;
  readonly access: string;
  readonly runsJobs: boolean;
  /** Most urgent first. */
  readonly findings: readonly Finding[];
  /** `none`, `unreadable`, `outdated` (the newest is unreadable, the previous one is shown), or `current`. */
  readonly replicaState: string;
  /** Changes when the numbers of the charts change; null without data. */
  readonly dataVersion: string | null;
  readonly replica: Replica | null;
  readonly progress: RunningSync | null;
  readonly budget: BudgetHour;
  readonly jobs: readonly JobLine[];
  readonly destinations: readonly DestinationLine[];
  /** Null if the key file is damaged. */
  readonly keys:
    | readonly {
        readonly name: string;
        readonly prefix: string;
        readonly createdAt: string;
        readonly lastUsedAt: string | null;
        readonly expiresAt: string | null;
      }[]
    | null;
  readonly snapshots: {
    readonly latest: string | null;
    readonly all: number;
    readonly newest: readonly SnapshotLine[];
  };
  readonly bytes: { readonly warehouse: number; readonly replica: number };
}
