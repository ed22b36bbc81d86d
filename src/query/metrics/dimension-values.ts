import { type DimensionName, dimensions, type ModelColumn } from '../../analytics/model/dimensions.ts';
import { valueColumns, valuesSql } from '../../analytics/model/values-sql.ts';
import { ROWS_MAX } from './run-metrics.ts';
import { checkParameters, invalidParameter, limitOf, onceOf, readBrands } from './scope-request.ts';
import type { MetricsSource } from './table-result.ts';

/** Number of values without the parameter `limit`. */
export const VALUES_LISTED = 100;

/** Names of the parameters of dimensionValues. */
export const VALUES_PARAMETERS = ['dimension', 'brand', 'search', 'limit'] as const;

/** Values of a dimension, ordered by name. */
export interface DimensionValues {
  readonly dimension: DimensionName;
  /** Columns with their SQL types; the last one is the name. */
  readonly columns: readonly ModelColumn[];
  /** Values in column order; null is the competitor of the brand itself. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** Number of values that match, also those beyond the limit. */
  readonly total: number;
}

/**
 * Lists the current values of a dimension. Parameters: `dimension`, `brand`, `search` (a part of the name, in any letter case) and `limit`
 * (default 100, at most 10,000).
 *
 * @throws SightlineError `invalid_parameter` with the parameter, its value, what is allowed and the nearest name
 * @example
 * await dimensionValues(source, new URLSearchParams('dimension=topic&brand=Acme&search=price&limit=20'));
 */
export async function dimensionValues(source: MetricsSource, given: URLSearchParams): Promise<DimensionValues> {
  checkParameters(given, VALUES_PARAMETERS);
  const names = dimensions.map(({ name }) => name);
  const asked = onceOf(given, 'dimension') ?? '';
  const dimension = dimensions.find(({ name }) => name === asked);
  if (dimension === undefined) throw invalidParameter('dimension', asked, names.join(', '), names);
  const limit = limitOf(given, ROWS_MAX) ?? VALUES_LISTED;
  const search = onceOf(given, 'search');
  const { replica, signal } = source;
  return replica.replica.work(async (query, read) => {
    const brands = await readBrands(source, query, given);
    const { rows } = await read(valuesSql(dimension, { brands, search, limit }));
    return {
      dimension: dimension.name,
      columns: valueColumns(dimension),
      rows: rows.map((row) => row.slice(0, -1).map((value) => (value === null ? null : String(value)))),
      total: Number(rows[0]?.at(-1) ?? 0),
    };
  }, signal);
}
