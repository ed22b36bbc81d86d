import type { Database, Session } from '../database.ts';
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

/** Records the position of a page. */
export async function writeRawPage(
  session: Session,
  runId: string,
  chain: SliceRef,
  page: { number: number; at: number; place: RawLocation },
): Promise<void> {
  const { file, position, bytes, sha256 } = page.place;
  await session.run(
    `INSERT INTO sync.raw_pages (file, position, resource, chain, run_id, brand_id, page, received_at, bytes, sha256)
     SELECT $1, $2, $3, $4, CAST($5 AS UUID), CAST($6 AS UUID), $7, CAST($8 AS TIMESTAMP), $9, $10`,
    [
      file,
      position,
      chain.resource,
      chain.id,
      runId,
      (chain.fixed['brand_id'] ?? null) as string | null,
      page.number,
      toTimestampText(page.at),
      bytes,
      sha256,
    ],
  );
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
