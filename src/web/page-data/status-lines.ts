import { z } from 'zod';
import { DESTINATION_KINDS } from '../../base/config/destination-settings.ts';
import { number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import { snapshotId } from '../../publish/snapshot/manifest.ts';

/** Severity: `good`, `busy` (work in progress), `attention` (should be checked), `problem` (does not work). */
const level = z.enum(['good', 'busy', 'attention', 'problem']);

/** A message for the operator, and the command that helps. */
const finding = z.object({
  level,
  about: z.enum(['replica', 'data', 'jobs', 'destinations', 'keys']),
  sentence: z.string(),
  command: z.string().nullable().describe('the command that helps'),
  consequences: z.array(z.string()).describe('other states that have the same cause and end with it'),
});

/** The state of a workspace: the most urgent finding, and all findings. */
export const verdict = z.object({
  level,
  sentence: z.string(),
  findings: z.array(finding).describe('most urgent first'),
});

/** Severity of a finding. */
export type Level = ValueOf<typeof level>;

/** A message for the operator. */
export type Finding = ValueOf<typeof finding>;

/** The state of a workspace. */
export type Verdict = ValueOf<typeof verdict>;

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

/** The last load into a destination. */
export const lastLoad = z.object({
  kind: z.enum(DESTINATION_KINDS),
  at: time.describe('end of the last load'),
  error: z.string().nullable().describe('why the last load failed; null if it did not'),
  loadedAt: time.nullable().describe('end of the last load that did not fail'),
  rows: number.nullable().describe('rows of the workspace after that load'),
  dataVersion: number.nullable().describe('version of the data that the destination has since'),
});

/** A destination and its last load. */
export const destinationState = z.object({
  name: z.string(),
  last: lastLoad.nullable().describe('null if nothing was loaded from this folder or its home'),
  next: z
    .enum(['everything', 'changes', 'nothing'])
    .nullable()
    .describe(
      'what the next load writes, by the version of the data; null if that is unknown or the destination is newer',
    ),
});

/** A destination and its last load. */
export type DestinationState = ValueOf<typeof destinationState>;

/** A published snapshot, as /snapshots lists it. */
export const snapshotLine = z.object({
  id: snapshotId,
  createdAt: time.describe('when the data were read'),
  rows: number.describe('rows of all tables'),
  bytes: number.describe('bytes of all files'),
  files: number.describe('number of files'),
  manifest: z.string().describe('`/snapshots/20260315T021500Z/manifest.json`: path of the manifest on this server'),
});

/** A published snapshot. */
export type SnapshotLine = ValueOf<typeof snapshotLine>;

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
