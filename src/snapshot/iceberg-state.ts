import { isRecord } from '../base/json.ts';
import type { ManifestEntry } from './iceberg-manifests.ts';
import type { IcebergShape, IcebergSnapshot } from './iceberg-metadata.ts';
import type { Manifest, SnapshotFile, SnapshotTable } from './manifest.ts';

/** Rows that are replaced together: those of a month, of no known month, or all of a table. Paths of files are keys. */
export interface LakePart {
  /** As the snapshot calls it. */
  readonly folder: string;
  /** Of the file of the snapshot whose rows these are. */
  readonly fingerprint: string;
  readonly rows: number;
  /** What the rows' hashes over these columns come to, put together in two ways that no order matters to. */
  readonly columns: readonly string[];
  readonly sum: string;
  readonly xor: string;
  /** Null without rows. */
  readonly manifest: { readonly entry: ManifestEntry; readonly file: SnapshotFile } | null;
  readonly files: readonly SnapshotFile[];
}

/** An Iceberg table as it was published: what the next publishing needs to know of it. */
export interface IcebergState extends IcebergShape {
  /** The metadata file for readers that follow `latest.json`; its key is its path. */
  readonly metadata: SnapshotFile;
  readonly list: SnapshotFile;
  readonly snapshot: IcebergSnapshot;
  /** Ids of all snapshots that the metadata names. */
  readonly snapshots: readonly number[];
  readonly parts: readonly LakePart[];
}

/** A table as the manifest in the store has it. */
export interface LakeTable extends SnapshotTable {
  readonly iceberg: IcebergState;
}

/** What a manifest says of a table; null where it says nothing of Iceberg. */
export function stateOf(manifest: Manifest | null, name: string): IcebergState | null {
  const table = manifest?.tables.find((each) => each.name === name);
  const state = (table as Partial<LakeTable> | undefined)?.iceberg;
  return isRecord(state) && Array.isArray(state.parts) && Array.isArray(state.schemas) ? state : null;
}
