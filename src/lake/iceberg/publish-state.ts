import { isRecord } from '../../base/json.ts';
import type { Manifest, SnapshotFile, SnapshotTable } from '../../snapshot/manifest.ts';
import type { ManifestEntry } from './manifests.ts';
import type { IcebergShape, IcebergSnapshot } from './metadata.ts';

/**
 * Rows that are replaced together: those of one month, those without a time, or a complete table. Paths of files are
 * keys.
 */
export interface LakePart {
  /** Folder of the part in the snapshot. */
  readonly folder: string;
  /** Fingerprint of the snapshot's file with these rows. */
  readonly fingerprint: string;
  readonly rows: number;
  /** Columns that were hashed; `sum` and `xor` combine the rows' hashes independently of their order. */
  readonly columns: readonly string[];
  readonly sum: string;
  readonly xor: string;
  /** Null if there are no rows. */
  readonly manifest: { readonly entry: ManifestEntry; readonly file: SnapshotFile } | null;
  readonly files: readonly SnapshotFile[];
}

/** State of a published Iceberg table, from which the next publish continues. */
export interface IcebergState extends IcebergShape {
  /** The metadata file for readers that follow `latest.json`; its key is its path. */
  readonly metadata: SnapshotFile;
  readonly list: SnapshotFile;
  readonly snapshot: IcebergSnapshot;
  /** Ids of all snapshots that the metadata names. */
  readonly snapshots: readonly number[];
  readonly parts: readonly LakePart[];
}

/** A table in a manifest of the store. */
export interface LakeTable extends SnapshotTable {
  readonly iceberg: IcebergState;
}

/** Returns the Iceberg state of a table in a manifest; null if it has none. */
export function stateOf(manifest: Manifest | null, name: string): IcebergState | null {
  const table = manifest?.tables.find((each) => each.name === name);
  const state = (table as Partial<LakeTable> | undefined)?.iceberg;
  return isRecord(state) && Array.isArray(state.parts) && Array.isArray(state.schemas) ? state : null;
}
