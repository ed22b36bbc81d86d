import type { ColumnKind } from '../contract/fields.ts';

/** Version of the tables in schema `sync`; resource tables are migrated to the catalogue without a version. */
export const SCHEMA_VERSION = 4;

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
COMMENT ON TABLE sync.meta IS 'The version of the tables in this schema.';
COMMENT ON TABLE sync.runs IS 'Every sync run with its status and what it cost.';
COMMENT ON TABLE sync.requests IS 'Every request sent to upstream, each attempt a row.';
COMMENT ON TABLE sync.coverage IS 'What was read whole, and when: one row per chain of pages, the latest time.';
COMMENT ON TABLE sync.checkpoints IS 'Pages of chains that are not finished; the next run goes on from here.';
COMMENT ON TABLE sync.quarantine IS 'Items upstream sent that could not be taken as rows, with the reason.';
`;

const servingTables = `
CREATE TABLE IF NOT EXISTS sync.conventions (
  name VARCHAR NOT NULL, value JSON, source VARCHAR NOT NULL, compared BIGINT NOT NULL, agreed BIGINT NOT NULL,
  largest_error DOUBLE, note VARCHAR, decided_at TIMESTAMP NOT NULL);
CREATE TABLE IF NOT EXISTS sync.shapes (resource VARCHAR NOT NULL, name VARCHAR NOT NULL, value VARCHAR);
CREATE TABLE IF NOT EXISTS sync.listings (
  resource VARCHAR NOT NULL, table_name VARCHAR NOT NULL, brand_id UUID, keys VARCHAR[]);
COMMENT ON TABLE sync.conventions IS 'How upstream computes and writes its numbers, as far as its own numbers show it.';
COMMENT ON COLUMN sync.conventions.name IS 'The question that the specification leaves open.';
COMMENT ON COLUMN sync.conventions.value IS 'The answer that the read server goes by, unless the configuration has another.';
COMMENT ON COLUMN sync.conventions.source IS 'learned: upstream''s numbers show it; default: they do not, and the note says why.';
COMMENT ON COLUMN sync.conventions.compared IS 'Numbers that upstream reported and that the rows held here could be compared with.';
COMMENT ON COLUMN sync.conventions.agreed IS 'How many of them are the same when computed by the value.';
COMMENT ON COLUMN sync.conventions.largest_error IS 'The largest difference among those compared.';
COMMENT ON COLUMN sync.conventions.note IS 'How sure the answer is, in words.';
COMMENT ON COLUMN sync.conventions.decided_at IS 'When the row was written (UTC).';
COMMENT ON TABLE sync.shapes IS 'How upstream''s answers look where the specification does not say.';
COMMENT ON TABLE sync.listings IS 'The order in which upstream sent its lists.';
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
COMMENT ON TABLE sync.drift IS 'Where upstream''s answers depart from the declarations: kept and counted, never fatal.';
COMMENT ON COLUMN sync.drift.path IS 'The field, with dots between the names of nested ones.';
COMMENT ON COLUMN sync.drift.kind IS 'unknown_field, vanished_field, changed_type or new_value.';
COMMENT ON COLUMN sync.drift.detail IS 'What was expected and what came, or the new value.';
COMMENT ON COLUMN sync.drift.count IS 'How many items showed it.';
COMMENT ON COLUMN sync.drift.run_id IS 'The run that saw it last.';
COMMENT ON COLUMN sync.drift.example IS 'One item or value that shows it.';
COMMENT ON TABLE sync.vocabulary IS 'What upstream''s answers have shown so far, so that what is new or gone is noticed.';
COMMENT ON COLUMN sync.vocabulary.kind IS 'value: a label seen; present, optional: the field always or sometimes there; many: too many values to watch; settled: learned.';
COMMENT ON TABLE sync.audits IS 'Each day of a list as it was last held against upstream''s own count of it.';
COMMENT ON COLUMN sync.coverage.state IS 'What the read was of, where that tells whether another is due.';
COMMENT ON COLUMN sync.audits.day IS 'The day, UTC.';
COMMENT ON COLUMN sync.audits.checked_at IS 'When upstream gave its count (UTC).';
COMMENT ON COLUMN sync.audits.agreed IS 'Whether all of upstream''s figures of the day were the same as those of the rows held.';
COMMENT ON COLUMN sync.audits.upstream IS 'Items of the day by upstream''s own count.';
COMMENT ON COLUMN sync.audits.held IS 'Items of the day held here.';
COMMENT ON COLUMN sync.audits.figures IS 'Hash of the figures of both sides: the same hash is the same agreement or difference.';
COMMENT ON COLUMN sync.audits.mark IS 'Hash of the rows of both sides: while it is the same, the day is not counted again.';
COMMENT ON TABLE sync.verifications IS 'Numbers recomputed from the rows held here, beside what upstream reported.';
COMMENT ON COLUMN sync.verifications.day IS 'The day, UTC; null where the number is for a range.';
COMMENT ON COLUMN sync.verifications.measure IS 'What was recomputed.';
COMMENT ON COLUMN sync.verifications.subject IS 'Whom or what the number is about, such as an engine or an entity.';
COMMENT ON COLUMN sync.verifications.upstream IS 'The number that upstream reported.';
COMMENT ON COLUMN sync.verifications.held IS 'The number computed from the rows held here.';
COMMENT ON TABLE sync.raw_pages IS 'Where answers are kept as they came, from which tables can be rebuilt.';
COMMENT ON COLUMN sync.raw_pages.file IS 'The file, relative to the folder of raw pages.';
COMMENT ON COLUMN sync.raw_pages.position IS 'Where in the file the answer begins, in bytes.';
COMMENT ON COLUMN sync.raw_pages.page IS 'Place in the chain, counted from 1.';
COMMENT ON COLUMN sync.raw_pages.bytes IS 'How many bytes of the file it takes, compressed.';
COMMENT ON COLUMN sync.raw_pages.sha256 IS 'Hash of the answer before compression, hex digits.';
`;

const proofTables = `
ALTER TABLE sync.audits ADD COLUMN IF NOT EXISTS tries BIGINT;
ALTER TABLE sync.audits ADD COLUMN IF NOT EXISTS retry_at TIMESTAMP;
CREATE TABLE IF NOT EXISTS sync.held_deletions (
  resource VARCHAR NOT NULL, brand_id UUID, table_name VARCHAR NOT NULL, chain VARCHAR NOT NULL,
  rows_before BIGINT NOT NULL, rows_lost BIGINT NOT NULL, held_at TIMESTAMP NOT NULL, run_id UUID NOT NULL);
COMMENT ON COLUMN sync.drift.kind IS 'unknown_field, vanished_field, changed_type, new_value or implausible_value.';
COMMENT ON COLUMN sync.audits.tries IS 'Runs that read the day while it differed; 0 or null if it agreed.';
COMMENT ON COLUMN sync.audits.retry_at IS 'When the day is read again (UTC); null if it agreed.';
COMMENT ON TABLE sync.held_deletions IS 'Mass deletions that were not made because nothing confirms them; sightline sync --accept-deletions makes them.';
COMMENT ON COLUMN sync.held_deletions.rows_before IS 'Stored rows of the list.';
COMMENT ON COLUMN sync.held_deletions.rows_lost IS 'Those of them that upstream no longer lists.';
COMMENT ON COLUMN sync.held_deletions.held_at IS 'When upstream sent the list without them (UTC).';
`;

/** SQL that migrates a file from each version to the next; the first step creates the tables. */
export const steps: readonly string[] = [firstTables, servingTables, recordTables, proofTables];
