import { fileLiteral, quoted } from '../../warehouse/schema.ts';
import type { Scratch } from '../../warehouse/scratch.ts';

/** Order-independent summary of rows: their number, and their hashes combined by sum and by exclusive or. */
interface RowSums {
  readonly rows: number;
  readonly sum: string;
  readonly xor: string;
  /** Number of rows in which one of the columns that were not hashed is not null. */
  readonly others: number;
}

interface Column {
  readonly name: string;
  readonly type: string;
}

/** Summarizes the rows of Parquet files over some columns. Equal rows have equal sums, whichever engine wrote them. */
export async function sumRows(
  scratch: Scratch,
  paths: readonly string[],
  columns: readonly Column[],
  others: readonly Column[],
): Promise<RowSums> {
  const hash = `hash(${columns.map(comparable).join(', ') || '0'})`;
  const filled = others.map(({ name }) => `${quoted(name)} IS NOT NULL`).join(' OR ') || 'false';
  const [row] = await scratch.all(
    `SELECT CAST(count(*) AS DOUBLE) AS rows, CAST(coalesce(sum(hash), 0) AS VARCHAR) AS sum,
       CAST(coalesce(bit_xor(hash), 0) AS VARCHAR) AS xor, CAST(count(*) FILTER (filled) AS DOUBLE) AS others
     FROM (SELECT ${hash} AS hash, ${filled} AS filled
       FROM read_parquet([${paths.map(fileLiteral).join(', ')}], hive_partitioning = false))`,
  );
  return {
    rows: Number(row?.['rows']),
    sum: String(row?.['sum']),
    xor: String(row?.['xor']),
    others: Number(row?.['others']),
  };
}

// Converts times to microseconds, because some files mark them as UTC and others do not.
function comparable({ name, type }: Column): string {
  return type.startsWith('TIMESTAMP') ? `epoch_us(${quoted(name)})` : quoted(name);
}
