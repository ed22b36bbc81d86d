import { z } from 'zod';
import { number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import type { ChildSettings } from './load-protocol.ts';

/** A file of a workspace that its home keeps. */
export interface HomeFile {
  /** Name in the home, such as `warehouse.duckdb`. */
  readonly name: string;
  readonly path: string;
}

/** State of a workspace in its home. */
export const homeState = z.object({
  workspace: z.string(),
  position: number.describe('fencing token, which grows with every lease'),
  savedAt: time
    .nullable()
    .describe('time of the last save, later than that of the save before; null if nothing was saved'),
  bytes: number.describe('size of the saved files'),
  lease: z
    .object({ holder: z.string(), task: z.string().nullable(), until: time })
    .nullable()
    .describe('who has the workspace, and for which task of a queue; null if it is free'),
});

/** State of a workspace in its home. */
export type HomeState = ValueOf<typeof homeState>;

/** The right to write to a workspace, as another process sees it. */
export type Lease = NonNullable<HomeState['lease']>;

/** Work on a home, all of it in one transaction. Times are epoch milliseconds. */
export type HomeWork =
  /** Reads the states of all workspaces. */
  | { readonly do: 'state' }
  /** Takes the lease, unless another holder has it. The same task of a queue takes it at once, because its previous worker is dead. */
  | {
      readonly do: 'take';
      readonly holder: string;
      readonly task: string | null;
      readonly now: number;
      readonly until: number;
      /** The position becomes larger than this one. */
      readonly above: number;
    }
  /** Makes the home equal to the files, and ends or renews the lease, if the position is still this one. */
  | {
      readonly do: 'save';
      readonly position: number;
      /** Null leaves the files of the home as they are. */
      readonly files: readonly HomeFile[] | null;
      readonly now: number;
      /** Null ends the lease. */
      readonly until: number | null;
    }
  /** Writes the saved files with these names into a folder. */
  | { readonly do: 'fetch'; readonly folder: string; readonly names: readonly string[] };

/** The task of a process that works on a home. It contains the password of the destination, so it is sent and never an argument. */
export interface HomeRequest extends ChildSettings {
  readonly home: HomeWork;
  readonly workspace: string;
}

/** What a `HomeWork` returns. */
export interface HomeResults {
  readonly state: readonly HomeState[];
  /** The position of the new lease and the state before it, or the lease of another holder. */
  readonly take: { readonly position: number; readonly before: HomeState | null } | { readonly taken: Lease };
  /** The time of the last save; null if the lease is lost. */
  readonly save: Pick<HomeState, 'savedAt'> | null;
  /** The state of the saved files; null if nothing was saved. */
  readonly fetch: HomeState | null;
}
