import { fileLiteral, quoted } from '../warehouse/schema.ts';
import type { Scratch } from '../warehouse/scratch.ts';

/** What rows come to, whatever their order: how many, and their hashes put together in two ways. */
interface RowSums {
  readonly rows: number;
  readonly sum: string;
  readonly xor: string;
  /** In how many rows one of the columns that were not summed up holds anything. */
  readonly others: number;
}

interface Column {
  readonly name: string;
  readonly type: string;
}

/** Sums up the rows of Parquet files over some columns; equal for equal rows, whoever wrote them. */
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

// The same moment, whether the file says that it is of UTC or leaves it open.
function comparable({ name, type }: Column): string {
  return type === 'TIMESTAMP' ? `epoch_us(${quoted(name)})` : quoted(name);
}
