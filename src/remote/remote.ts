import { z } from 'zod';
import { number, time, type ValueOf } from '../contract/operation/json-parts.ts';
/** The process that checks a workspace out. */
export interface Holder {
  /** Name of the process and its machine, shown to other processes. */
  readonly name: string;
  /**
   * Id of the queue task for which the process works, or null. A process with the same task may take the lease at once,
   * because the queue's lease proves that the previous process is dead.
   */
  readonly via: string | null;
}

/** The place that keeps the data of a workspace between runs: its own folder or a remote warehouse. */
export interface Remote {
  /**
   * Takes the lease and makes the workspace's folder equal to the remote warehouse, up to the last page that was made
   * durable there.
   * @throws `warehouse_locked` with the holder, `remote_failed`, or the signal's reason
   * @example
   * const out = await remote.checkOut({ name: 'sync on host a', via: null }, signal);
   * // open the warehouse, work, close it
   * await out.checkIn();
   * await out.release();
   */
  checkOut(holder: Holder, signal: AbortSignal): Promise<CheckedOut>;
  /**
   * Downloads the warehouse file of the last check-in to `path` (temporary file, verified, renamed) unless its version
   * is `known`. Takes no lease. Returns null if there was no check-in.
   */
  fetchCopy(path: string, known: string | null): Promise<FetchedReplica | null>;
  /** Returns null for a local folder and if there was no check-out. */
  state(): Promise<RemoteState | null>;
  close(): void;
}

/** A workspace that this process has checked out. A process with an earlier epoch can no longer check in or publish. */
export interface CheckedOut {
  /** Fencing token; grows with each check-out. */
  readonly epoch: number;
  /**
   * Aborted with `lease_lost` when another process has taken the workspace or the lease could not be renewed in time.
   */
  readonly lost: AbortSignal;
  /** Null if the local disk is durable enough. */
  readonly journal: Journal | null;
  /**
   * Saves the folder as the newest state and returns its version; null if there is no warehouse. The warehouse must be
   * closed.
   * @throws `lease_lost`, `remote_failed`
   */
  checkIn(): Promise<string | null>;
  /**
   * Saves the kept files at once, except those in kept folders, so that a process that takes over without a check-in
   * finds them.
   * @throws `lease_lost`, `remote_failed`
   */
  keepFiles(): Promise<void>;
  /** Releases the lease. If there was no check-in, the next holder resumes after the last page in the journal. */
  release(): Promise<void>;
}

/** Makes the commits of a warehouse durable before it is checked in. */
export interface Journal {
  /** Starts to follow an open warehouse that keeps its log. Call the returned function before closing the warehouse. */
  follow(warehouse: FollowedWarehouse): () => Promise<void>;
  /**
   * Resolves when every commit before this call is durable in the remote warehouse.
   * @throws `lease_lost`
   */
  durable(): Promise<void>;
}

/** An open warehouse, as the journal needs it. */
export interface FollowedWarehouse {
  /** Runs `work` while no transaction is open; `fold` checkpoints the log into the file. */
  alone<T>(work: (fold: () => Promise<void>) => Promise<T>): Promise<T>;
}

/** Result of `fetchCopy`. */
export interface FetchedReplica {
  readonly version: string;
  readonly isNew: boolean;
  /** When it was checked in, ISO 8601. */
  readonly savedAt: string;
}

/** State of a remote warehouse. */
export const remoteState = z.object({
  epoch: number,
  claim: z
    .object({ holder: z.string(), via: z.string().nullable(), until: time })
    .nullable()
    .describe('the lease; null if it is free'),
  savedAt: time.nullable().describe('time of the last check-in'),
  bytes: number.describe('size of the warehouse file of the last check-in'),
  journalPieces: number.describe('journal pieces since that file, as of the last renewal of the lease'),
});

/** State of a remote warehouse. */
export type RemoteState = ValueOf<typeof remoteState>;
