import type { Database, Session } from '../database.ts';
import { ledgerInsert, stage } from '../write/staging.ts';
import { type SliceRef, toTimestampText } from './ledger.ts';

/** Position of an archived page in the raw pages. */
export interface RawLocation {
  /** Relative to the folder of raw pages. */
  readonly file: string;
  /** Offset and length in the file, in bytes. */
  readonly position: number;
  readonly bytes: number;
  /** SHA-256 of the uncompressed page, hex. */
  readonly sha256: string;
}

const insertRawPage = ledgerInsert('raw_pages');

/** Records the position of a page. */
export function writeRawPage(
  session: Session,
  runId: string,
  slice: SliceRef,
  { number, at, place }: { number: number; at: number; place: RawLocation },
): void {
  const { file, position, bytes, sha256 } = place;
  const row = {
    file,
    position,
    resource: slice.resource,
    slice: slice.id,
    run_id: runId,
    brand_id: slice.fixed['brand_id'] ?? null,
    page: number,
    received_at: toTimestampText(at),
    bytes,
    sha256,
  };
  session.append(insertRawPage, stage([row]));
}

/** Reads the positions of the committed pages in a file; empty if the file is unknown to the warehouse. */
export async function readCommitted(database: Database, file: string): Promise<ReadonlySet<number>> {
  const rows = await database.exclusive((session) =>
    session.all('SELECT position FROM sync.raw_pages WHERE file = $1', [file]),
  );
  return new Set(rows.map((row) => Number(row['position'])));
}

/** Deletes the records of pages whose file is not among `files`. */
export async function forgetRawPages(database: Database, files: readonly string[]): Promise<void> {
  await database.transaction((session) =>
    session.run('DELETE FROM sync.raw_pages WHERE NOT list_contains($1, file)', [files]),
  );
}
