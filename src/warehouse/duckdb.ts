import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** DuckDB's client. Node would scan the names of an imported CommonJS module, which takes 0.1 s of CPU in each process. */
export const duckdb = require('@duckdb/node-api') as typeof import('@duckdb/node-api');

// The driver's decoder removes a leading U+FEFF, which belongs to the text.
(require('@duckdb/node-api/lib/vectors/dataAccessors.js') as { textDecoder: unknown }).textDecoder = new TextDecoder(
  'utf-8',
  {
    ignoreBOM: true,
  },
);
