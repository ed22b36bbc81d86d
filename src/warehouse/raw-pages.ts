import type { Database, Session } from './database.ts';
import { type ChainRef, toTimestampText } from './ledger.ts';

/** Where an answer is kept as it came. */
export interface RawPlace {
  /** Relative to the folder of raw pages. */
  readonly file: string;
  /** Where it begins in the file, and how many bytes of it it takes. */
  readonly position: number;
  readonly bytes: number;
  /** Hash of the answer, hex digits. */
  readonly sha256: string;
}

/** Notes where a page is kept. */
export async function writeRawPage(
  session: Session,
  runId: string,
  chain: ChainRef,
  page: { number: number; at: number; place: RawPlace },
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

/** Positions of the committed pages in a file; none when the warehouse knows nothing of the file. */
export async function readCommitted(database: Database, file: string): Promise<ReadonlySet<number>> {
  const rows = await database.exclusive((session) =>
    session.all('SELECT position FROM sync.raw_pages WHERE file = $1', [file]),
  );
  return new Set(rows.map((row) => Number(row['position'])));
}

/** Forgets pages whose file is not among those that are there. */
export async function forgetRawPages(database: Database, files: readonly string[]): Promise<void> {
  await database.transaction((session) =>
    session.run('DELETE FROM sync.raw_pages WHERE NOT list_contains($1, file)', [files]),
  );
}
