import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBMaterializedResult,
  DuckDBPreparedStatement,
} from '@duckdb/node-api';
import { SightlineError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import { duckdb } from '../duckdb.ts';
import type { AllowedStatement, Parse } from './allow-statements.ts';

/** Runs a statement. Materializes the complete result, because an interrupted stream looks like a finished one. */
export async function run(
  connection: DuckDBConnection,
  statement: AllowedStatement,
): Promise<DuckDBMaterializedResult> {
  const prepared = await prepareChecked(connection, statement);
  try {
    return await prepared.run();
  } finally {
    prepared.destroySync();
  }
}

/**
 * Reads a result in chunks. If DuckDB cannot allocate a chunk, it returns null or no rows, as after the last one.
 * @throws an error in DuckDB's form if a chunk is missing
 */
export async function* chunksOf(result: DuckDBMaterializedResult): AsyncGenerator<DuckDBDataChunk> {
  for (let rows = 0; rows < result.rowCount;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0)
      throw new Error(`Out of Memory Error: ${rows} of ${result.rowCount} rows could be read`);
    rows += chunk.rowCount;
    yield chunk;
  }
}

/**
 * Prepares an allowed statement.
 * @throws `sql_rejected` if DuckDB finds another kind or number of statements, and `sql_invalid` if a parameter has no value
 */
export async function prepareChecked(
  connection: DuckDBConnection,
  { sql, type }: AllowedStatement,
): Promise<DuckDBPreparedStatement> {
  const extracted = await connection.extractStatements(sql);
  if (extracted.count !== 1) {
    throw new SightlineError('sql_rejected', `DuckDB found ${extracted.count} statements in one checked statement`);
  }
  const prepared = await extracted.prepare(0);
  const found = duckdb.StatementType[prepared.statementType];
  if (found === type && prepared.parameterCount === 0) return prepared;
  const parameter = prepared.parameterCount > 0 ? prepared.parameterName(1) : null;
  prepared.destroySync();
  if (parameter !== null) {
    const allowed = "values in the text, or SET VARIABLE and getvariable('name')";
    throw new SightlineError('sql_invalid', `the parameter $${parameter} has no value; allowed: ${allowed}`);
  }
  throw new SightlineError('sql_rejected', `${found} is not allowed`);
}

/** Returns the parser for `allowStatements`. */
export function parserOf(parser: DuckDBConnection): Parse {
  return async (sql) => {
    const reader = await parser.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql]);
    const parsed: unknown = JSON.parse(withoutNonFinite(String(reader.getRows()[0]?.[0])));
    // Throws DuckDB's own message with the position of the error, which the serialized form lacks. Called second
    // because it does more than parse: it reads the files of IMPORT DATABASE.
    if (isRecord(parsed) && parsed['error_type'] === 'parser') await parser.extractStatements(sql);
    return parsed;
  };
}

// DuckDB serializes constants such as 1e400 as bare words, which JSON does not have. Their values are not checked.
function withoutNonFinite(json: string): string {
  return json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\b(?:Infinity|inf|NaN|nan)\b/g, (token) =>
    token.startsWith('"') ? token : 'null',
  );
}
