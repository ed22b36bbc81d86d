import type { Level } from './status-lines.ts';

/** A workspace in the list; times are ISO 8601, UTC. */
export interface FleetRow {
  readonly workspace: string;
  /** The verdict, as in `sightline status`. */
  readonly level: Level;
  readonly sentence: string;
  /** Whether the replica is still being read. Until then, the fields from it are null or describe the previous replica. */
  readonly isPending: boolean;
  /** End of the last complete sync. */
  readonly syncedAt: string | null;
  /** Last day up to which all responses were read. */
  readonly completeTo: string | null;
  readonly brands: number | null;
  /** Columns of the measure over all brands, such as `visibility`, `visibility_n` and `visibility_change`; null for keys of some brands. */
  readonly visibility: Readonly<Record<string, unknown>> | null;
  readonly nextJob: { readonly name: string; readonly at: string } | null;
  /** The running sync, with the requests done and expected. */
  readonly sync: {
    readonly command: string;
    readonly startedAt: string;
    readonly done: number;
    readonly expected: number;
    readonly secondsToGo: number;
  } | null;
}
