import type { ReplicaReport } from '../../read/replica-report.ts';
import type { RunningSync } from '../../sync/progress-file.ts';
import type { BudgetHour, DestinationState, Finding, JobLine, SnapshotLine } from './status-lines.ts';

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
  readonly replica: ReplicaReport | null;
  readonly progress: RunningSync | null;
  readonly budget: BudgetHour;
  readonly jobs: readonly JobLine[];
  readonly destinations: readonly DestinationState[];
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
