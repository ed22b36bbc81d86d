import type { ColumnKind } from '../contract/fields.ts';

/** Version of the tables in schema `sync`. A file of another version is rejected; resource tables follow the catalogue without a version. */
export const SCHEMA_VERSION = 13;

/** Kind of a stored column: that of a declared column, or a list of texts. */
export type StoredKind = ColumnKind | 'texts';

/** The SQL type of each kind. */
export const sqlTypes: Readonly<Record<StoredKind, string>> = {
  uuid: 'UUID',
  text: 'VARCHAR',
  integer: 'BIGINT',
  number: 'DOUBLE',
  boolean: 'BOOLEAN',
  timestamp: 'TIMESTAMP',
  day: 'DATE',
  json: 'JSON',
  texts: 'VARCHAR[]',
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

/** Kind of a column of schema `sync`, and whether it must have a value. */
type LedgerColumn = StoredKind | `${StoredKind} NOT NULL`;

/** Columns of a row about a slice. */
const sliceColumns = {
  slice: 'text NOT NULL',
  resource: 'text NOT NULL',
  brand_id: 'uuid',
  range_from: 'day',
  range_to: 'day',
  pass_id: 'uuid NOT NULL',
} as const;

/** Columns of the tables of schema `sync` that pages add rows to. */
const ledgerColumns = {
  requests: {
    run_id: 'uuid NOT NULL',
    sent_at: 'timestamp NOT NULL',
    resource: 'text NOT NULL',
    slice: 'text NOT NULL',
    path: 'text NOT NULL',
    query: 'json',
    attempt: 'integer',
    status: 'integer',
    waited_ms: 'integer',
    took_ms: 'integer',
    bytes: 'integer',
    rows: 'integer',
    inserted: 'integer',
    updated: 'integer',
    deleted: 'integer',
    error: 'text',
    data_version: 'integer',
  },
  coverage: {
    ...sliceColumns,
    run_id: 'uuid NOT NULL',
    closed_at: 'timestamp NOT NULL',
    rows: 'integer NOT NULL',
    state: 'text',
  },
  checkpoints: {
    ...sliceColumns,
    page: 'integer NOT NULL',
    table_name: 'text NOT NULL',
    next_cursor: 'text',
    seen: 'texts',
    unidentified: 'integer NOT NULL',
    read_at: 'timestamp NOT NULL',
  },
  shapes: { resource: 'text NOT NULL', name: 'text NOT NULL', value: 'text' },
  raw_pages: {
    file: 'text NOT NULL',
    position: 'integer NOT NULL',
    resource: 'text NOT NULL',
    slice: 'text',
    run_id: 'uuid',
    brand_id: 'uuid',
    page: 'integer',
    received_at: 'timestamp NOT NULL',
    bytes: 'integer NOT NULL',
    sha256: 'text',
  },
  drift: {
    resource: 'text NOT NULL',
    table_name: 'text',
    path: 'text NOT NULL',
    kind: 'text NOT NULL',
    detail: 'text',
    count: 'integer NOT NULL',
    first_seen_at: 'timestamp NOT NULL',
    last_seen_at: 'timestamp NOT NULL',
    run_id: 'uuid',
    example: 'text',
  },
  vocabulary: {
    resource: 'text NOT NULL',
    table_name: 'text',
    path: 'text NOT NULL',
    kind: 'text NOT NULL',
    value: 'text',
    first_seen_at: 'timestamp NOT NULL',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, LedgerColumn>>>>;

/** A table of `ledgerColumns`. */
export type LedgerTable = keyof typeof ledgerColumns;

/** Returns the columns of a table of `ledgerColumns`. */
export function columnsOfLedger(
  table: LedgerTable,
): readonly { readonly name: string; readonly kind: StoredKind; readonly constraint: string }[] {
  return Object.entries(ledgerColumns[table]).map(([name, column]) => {
    const [kind, ...constraint] = column.split(' ') as [StoredKind, ...string[]];
    return { name, kind, constraint: constraint.join(' ') };
  });
}

function createLedger(table: LedgerTable): string {
  const columns = columnsOfLedger(table).map(({ name, kind, constraint }) => `${name} ${sqlTypes[kind]} ${constraint}`);
  return `CREATE TABLE sync.${table} (${columns.join(', ')});`;
}

/** SQL that creates the tables of schema `sync` in a new warehouse. */
export const ledgerTables = `
CREATE SCHEMA sync;
CREATE TABLE sync.meta (name VARCHAR NOT NULL, value VARCHAR);
INSERT INTO sync.meta VALUES ('schema_version', '${SCHEMA_VERSION}');
CREATE TABLE sync.runs (
  run_id UUID NOT NULL, pass_id UUID NOT NULL, started_at TIMESTAMP NOT NULL, ended_at TIMESTAMP,
  status VARCHAR NOT NULL, options VARCHAR NOT NULL, requests BIGINT, retries BIGINT, waited_ms BIGINT,
  quarantined BIGINT, tables JSON, error VARCHAR, data_version BIGINT, pid BIGINT, kind VARCHAR, trigger VARCHAR);
${createLedger('requests')}
${createLedger('coverage')}
${createLedger('checkpoints')}
CREATE TABLE sync.quarantine (
  id VARCHAR NOT NULL, resource VARCHAR NOT NULL, table_name VARCHAR NOT NULL, brand_id UUID, reason VARCHAR NOT NULL,
  item JSON, first_seen_at TIMESTAMP NOT NULL, last_seen_at TIMESTAMP NOT NULL, run_id UUID NOT NULL);
CREATE TABLE sync.calibration (
  name VARCHAR NOT NULL, value JSON, source VARCHAR NOT NULL, compared BIGINT NOT NULL, agreed BIGINT NOT NULL,
  note VARCHAR, decided_at TIMESTAMP NOT NULL, candidates JSON, confidence DOUBLE,
  contradicted BOOLEAN);
${createLedger('shapes')}
CREATE TABLE sync.listings (
  resource VARCHAR NOT NULL, table_name VARCHAR NOT NULL, brand_id UUID, keys VARCHAR[]);
CREATE TABLE sync.marks (
  brand_id UUID NOT NULL, kind VARCHAR NOT NULL, id VARCHAR NOT NULL, value VARCHAR NOT NULL, is_setting BOOLEAN NOT NULL);
${createLedger('drift')}
${createLedger('vocabulary')}
CREATE TABLE sync.audits (
  resource VARCHAR NOT NULL, brand_id UUID, day DATE NOT NULL, checked_at TIMESTAMP NOT NULL, agreed BOOLEAN NOT NULL,
  upstream BIGINT NOT NULL, stored BIGINT NOT NULL, figures VARCHAR NOT NULL, mark VARCHAR, tries BIGINT,
  retry_at TIMESTAMP);
CREATE TABLE sync.verifications (
  verified_at TIMESTAMP NOT NULL, run_id UUID, brand_id UUID, day DATE, measure VARCHAR NOT NULL, subject VARCHAR,
  upstream DOUBLE, stored DOUBLE, agrees BOOLEAN);
${createLedger('raw_pages')}
CREATE TABLE sync.unconfirmed_deletions (
  resource VARCHAR NOT NULL, brand_id UUID, table_name VARCHAR NOT NULL, slice VARCHAR NOT NULL,
  rows_before BIGINT NOT NULL, rows_lost BIGINT NOT NULL, missing_since TIMESTAMP NOT NULL, run_id UUID NOT NULL);
CREATE TABLE sync.answers (
  resource VARCHAR NOT NULL, brand_id UUID, query JSON NOT NULL, purpose VARCHAR NOT NULL, status BIGINT NOT NULL,
  body VARCHAR, asked_at TIMESTAMP NOT NULL, run_id UUID);
CREATE TABLE sync.comparisons (
  compared_at TIMESTAMP NOT NULL, run_id UUID, resource VARCHAR NOT NULL, brand_id UUID, query JSON NOT NULL,
  verdict VARCHAR NOT NULL, fields JSON, convention VARCHAR, detail VARCHAR);
CREATE TABLE sync.echoed_days (
  resource VARCHAR NOT NULL, brand_id UUID, echoed_at TIMESTAMP NOT NULL, day DATE NOT NULL,
  zone VARCHAR NOT NULL);
CREATE TABLE sync.endpoints (
  path VARCHAR NOT NULL, resource VARCHAR, state VARCHAR NOT NULL, reason VARCHAR, declaration JSON,
  found_at TIMESTAMP NOT NULL, changed_at TIMESTAMP NOT NULL);
`;
