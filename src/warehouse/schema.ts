import type { ColumnKind } from '../contract/fields.ts';

/** Version of the tables in schema `sync`; resource tables are migrated to the catalogue without a version. */
export const SCHEMA_VERSION = 7;

/** The SQL type of each column kind. */
export const sqlTypes: Readonly<Record<ColumnKind, string>> = {
  uuid: 'UUID',
  text: 'VARCHAR',
  integer: 'BIGINT',
  number: 'DOUBLE',
  boolean: 'BOOLEAN',
  timestamp: 'TIMESTAMP',
  day: 'DATE',
  json: 'JSON',
};

/** The SQL type of times in the replica and in Parquet: instants, which readers in any time zone compare correctly. */
export const INSTANT = 'TIMESTAMPTZ';

/**
 * Returns the SQL of a TIMESTAMP or TIMESTAMPTZ as a TIMESTAMP in UTC. Unlike a cast or AT TIME ZONE, it takes both
 * types, does not depend on the session's time zone or on the ICU extension, and costs a tenth.
 */
export function utc(time: string): string {
  return `make_timestamp(epoch_us(${time}))`;
}

/** Quotes an SQL identifier. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns a text as an SQL string literal. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Returns the path of an existing file as a literal for functions that expect a pattern, such as `read_parquet`. */
export function fileLiteral(path: string): string {
  return literal(path.replace(/[*?[]/g, '[$&]'));
}

const firstTables = `
CREATE SCHEMA IF NOT EXISTS sync;
CREATE TABLE IF NOT EXISTS sync.meta (name VARCHAR NOT NULL, value VARCHAR);
CREATE TABLE IF NOT EXISTS sync.runs (
  run_id UUID NOT NULL, pass_id UUID NOT NULL, started_at TIMESTAMP NOT NULL, ended_at TIMESTAMP,
  status VARCHAR NOT NULL, options VARCHAR NOT NULL, requests BIGINT, retries BIGINT, waited_ms BIGINT,
  quarantined BIGINT, tables JSON, error VARCHAR, data_version BIGINT,
  pid BIGINT);
CREATE TABLE IF NOT EXISTS sync.requests (
  run_id UUID NOT NULL, sent_at TIMESTAMP NOT NULL, resource VARCHAR NOT NULL, chain VARCHAR NOT NULL,
  path VARCHAR NOT NULL, query JSON, attempt BIGINT, status BIGINT, waited_ms BIGINT, took_ms BIGINT, bytes BIGINT,
  rows BIGINT, inserted BIGINT, updated BIGINT, deleted BIGINT, error VARCHAR,
  data_version BIGINT);
CREATE TABLE IF NOT EXISTS sync.coverage (
  chain VARCHAR NOT NULL, resource VARCHAR NOT NULL, brand_id UUID, range_from DATE, range_to DATE,
  pass_id UUID NOT NULL, run_id UUID NOT NULL, closed_at TIMESTAMP NOT NULL, rows BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS sync.checkpoints (
  chain VARCHAR NOT NULL, resource VARCHAR NOT NULL, brand_id UUID, range_from DATE, range_to DATE,
  pass_id UUID NOT NULL, page BIGINT NOT NULL, table_name VARCHAR NOT NULL, next_cursor VARCHAR, seen VARCHAR[],
  unidentified BIGINT NOT NULL, read_at TIMESTAMP NOT NULL);
CREATE TABLE IF NOT EXISTS sync.quarantine (
  id VARCHAR NOT NULL, resource VARCHAR NOT NULL, table_name VARCHAR NOT NULL, brand_id UUID, reason VARCHAR NOT NULL,
  item JSON, first_seen_at TIMESTAMP NOT NULL, last_seen_at TIMESTAMP NOT NULL, run_id UUID NOT NULL);
`;

const servingTables = `
CREATE TABLE IF NOT EXISTS sync.conventions (
  name VARCHAR NOT NULL, value JSON, source VARCHAR NOT NULL, compared BIGINT NOT NULL, agreed BIGINT NOT NULL,
  largest_error DOUBLE, note VARCHAR, decided_at TIMESTAMP NOT NULL);
CREATE TABLE IF NOT EXISTS sync.shapes (resource VARCHAR NOT NULL, name VARCHAR NOT NULL, value VARCHAR);
CREATE TABLE IF NOT EXISTS sync.listings (
  resource VARCHAR NOT NULL, table_name VARCHAR NOT NULL, brand_id UUID, keys VARCHAR[]);
`;

const recordTables = `
CREATE TABLE IF NOT EXISTS sync.drift (
  resource VARCHAR NOT NULL, table_name VARCHAR, path VARCHAR NOT NULL, kind VARCHAR NOT NULL, detail VARCHAR,
  count BIGINT NOT NULL, first_seen_at TIMESTAMP NOT NULL, last_seen_at TIMESTAMP NOT NULL, run_id UUID,
  example VARCHAR);
CREATE TABLE IF NOT EXISTS sync.vocabulary (
  resource VARCHAR NOT NULL, table_name VARCHAR, path VARCHAR NOT NULL, kind VARCHAR NOT NULL, value VARCHAR,
  first_seen_at TIMESTAMP NOT NULL);
CREATE TABLE IF NOT EXISTS sync.audits (
  resource VARCHAR NOT NULL, brand_id UUID, day DATE NOT NULL, checked_at TIMESTAMP NOT NULL, agreed BOOLEAN NOT NULL,
  upstream BIGINT NOT NULL, held BIGINT NOT NULL, figures VARCHAR NOT NULL, mark VARCHAR);
ALTER TABLE sync.coverage ADD COLUMN IF NOT EXISTS state VARCHAR;
CREATE TABLE IF NOT EXISTS sync.verifications (
  verified_at TIMESTAMP NOT NULL, run_id UUID, brand_id UUID, day DATE, measure VARCHAR NOT NULL, subject VARCHAR,
  upstream DOUBLE, held DOUBLE, agrees BOOLEAN);
CREATE TABLE IF NOT EXISTS sync.raw_pages (
  file VARCHAR NOT NULL, position BIGINT NOT NULL, resource VARCHAR NOT NULL, chain VARCHAR, run_id UUID,
  brand_id UUID, page BIGINT,
  received_at TIMESTAMP NOT NULL, bytes BIGINT NOT NULL, sha256 VARCHAR);
`;

const proofTables = `
ALTER TABLE sync.audits ADD COLUMN IF NOT EXISTS tries BIGINT;
ALTER TABLE sync.audits ADD COLUMN IF NOT EXISTS retry_at TIMESTAMP;
CREATE TABLE IF NOT EXISTS sync.held_deletions (
  resource VARCHAR NOT NULL, brand_id UUID, table_name VARCHAR NOT NULL, chain VARCHAR NOT NULL,
  rows_before BIGINT NOT NULL, rows_lost BIGINT NOT NULL, held_at TIMESTAMP NOT NULL, run_id UUID NOT NULL);
`;

// Earlier versions and queries of users read the calibration as sync.conventions.
const calibrationTable = `
ALTER TABLE sync.conventions RENAME TO calibration;
CREATE VIEW sync.conventions AS SELECT * FROM sync.calibration;
COMMENT ON VIEW sync.conventions IS 'Earlier name of sync.calibration.';
`;

// Earlier versions recorded only syncs, among them the ones that refreshed a plan.
const runKinds = `
ALTER TABLE sync.runs ADD COLUMN IF NOT EXISTS kind VARCHAR;
ALTER TABLE sync.runs ADD COLUMN IF NOT EXISTS trigger VARCHAR;
UPDATE sync.runs SET kind = 'sync';
`;

// Calibration from whole responses, comparisons with upstream, and endpoints that no declaration describes.
// The view is created again, because DuckDB rejects a view whose table has gained columns.
const openPoints = `
DROP VIEW sync.conventions;
ALTER TABLE sync.calibration ADD COLUMN IF NOT EXISTS candidates JSON;
ALTER TABLE sync.calibration ADD COLUMN IF NOT EXISTS confidence DOUBLE;
ALTER TABLE sync.calibration ADD COLUMN IF NOT EXISTS contradicted BOOLEAN;
CREATE VIEW sync.conventions AS SELECT * FROM sync.calibration;
COMMENT ON VIEW sync.conventions IS 'Earlier name of sync.calibration.';
CREATE TABLE IF NOT EXISTS sync.answers (
  resource VARCHAR NOT NULL, brand_id UUID, query JSON NOT NULL, purpose VARCHAR NOT NULL, status BIGINT NOT NULL,
  body VARCHAR, asked_at TIMESTAMP NOT NULL, run_id UUID, agreements JSON);
CREATE TABLE IF NOT EXISTS sync.comparisons (
  compared_at TIMESTAMP NOT NULL, run_id UUID, resource VARCHAR NOT NULL, brand_id UUID, query JSON NOT NULL,
  verdict VARCHAR NOT NULL, fields JSON, convention VARCHAR, detail VARCHAR);
CREATE TABLE IF NOT EXISTS sync.endpoints (
  path VARCHAR NOT NULL, resource VARCHAR, state VARCHAR NOT NULL, reason VARCHAR, declaration JSON,
  found_at TIMESTAMP NOT NULL, changed_at TIMESTAMP NOT NULL);
`;

/** SQL that migrates a file from each version to the next; the first step creates the tables. */
export const steps: readonly string[] = [
  firstTables,
  servingTables,
  recordTables,
  proofTables,
  calibrationTable,
  runKinds,
  openPoints,
];
