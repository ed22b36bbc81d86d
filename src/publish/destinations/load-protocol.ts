import type { WorkspaceConfig } from '../../base/config/config.ts';
import type { DestinationTarget } from '../../base/config/destination-settings.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { LoadedTable } from './load-rows.ts';
import type { Load } from './load-tables.ts';

/** What a process needs to attach a destination. */
export interface ChildSettings {
  readonly target: DestinationTarget;
  /** Folder for data that does not fit into memory. */
  readonly temporary: string;
  readonly extensions: WorkspaceConfig['extensions'];
}

/** The task of a process that loads. It contains the password of the destination, so it is sent and never an argument. */
export interface LoadRequest
  extends ChildSettings, Omit<Load, 'warehouse' | 'dataVersion' | 'identity' | 'ownSchema' | 'schemas'> {
  /** Path of the replica. */
  readonly replica: string;
}

/** What a load returns. */
export interface Loaded {
  /** Version of the data that the destination has. */
  readonly dataVersion: number;
  /** Null if nothing has changed since the load before. */
  readonly tables: readonly LoadedTable[] | null;
}

/** Begins messages about another process that reads or writes at the same time. */
export const CONFLICT = 'another process uses the destination: ';

/** A message of a process that works on a destination. */
export type ChildReply<T = unknown> =
  | { readonly kind: 'progress'; readonly done: number }
  /** The files of a save are read. */
  | { readonly kind: 'staged' }
  | { readonly kind: 'done'; readonly result: T }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };
