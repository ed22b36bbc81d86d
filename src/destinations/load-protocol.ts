import type { WorkspaceConfig } from '../base/config/config.ts';
import type { DestinationTarget } from '../base/config/destination-settings.ts';
import type { ErrorCode } from '../base/errors.ts';
import type { Load, LoadedTable } from './load-tables.ts';

/** The task of a process that loads. It contains the password of the destination, so it is sent and never an argument. */
export interface LoadRequest extends Omit<Load, 'warehouse' | 'dataVersion' | 'identity'> {
  /** Path of the replica. */
  readonly replica: string;
  readonly target: DestinationTarget;
  /** Folder for data that does not fit into memory. */
  readonly temporary: string;
  readonly extensions: WorkspaceConfig['extensions'];
}

/** A message of a process that loads. */
export type LoadReply =
  | { readonly kind: 'progress'; readonly done: number }
  /** `tables` is null if nothing had to be loaded. */
  | { readonly kind: 'done'; readonly tables: readonly LoadedTable[] | null }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };
