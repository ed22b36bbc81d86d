import { z } from 'zod';
import { number } from '../../contract/operation/json-parts.ts';
import { defineOperation } from '../../contract/operation/operation.ts';
import { type Dimension, dimensionName, dimensions, modelColumn } from '../../metrics/model/dimensions.ts';
import { valueColumns, valuesSql } from '../../metrics/model/values-sql.ts';
import { ROWS_MAX } from './run-metrics.ts';
import { readBrands, scopeInput } from './scope-request.ts';
import type { MetricsSource } from './table-result.ts';

/** Lists the current values of a dimension, ordered by name. */
export const dimensionValues = defineOperation({
  name: 'list_dimension_values',
  path: '/data/metrics/values',
  title: 'List dimension values',
  about: 'Values of a dimension, for filters: names and ids of brands, topics, prompts, competitors, domains.',
  input: z.object({
    dimension: dimensionName,
    brand: scopeInput.brand,
    search: z.string().optional().describe('Part of the name, in any letter case.'),
    limit: z.int().min(1).max(ROWS_MAX).default(100).describe('Most values.'),
  }),
  output: z.object({
    dimension: dimensionName,
    columns: z.array(modelColumn).describe('the last one is the name'),
    rows: z
      .array(z.array(z.string().nullable()))
      .describe('values in column order; null is the competitor of the brand itself'),
    total: number.describe('number of values that match, also those beyond the limit'),
  }),
  run: async (source: MetricsSource, { dimension: name, search = null, limit, ...input }) => {
    const dimension = dimensions.find((one) => one.name === name) as Dimension;
    const { replica, signal } = source;
    return replica.replica.work(async (query, read) => {
      const brands = await readBrands(source, query, input);
      const { rows } = await read(valuesSql(dimension, { brands, search, limit }));
      return {
        dimension: name,
        columns: valueColumns(dimension),
        rows: rows.map((row) => row.slice(0, -1).map((value) => (value === null ? null : String(value)))),
        total: Number(rows[0]?.at(-1) ?? 0),
      };
    }, signal);
  },
});
