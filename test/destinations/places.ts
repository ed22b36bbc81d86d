import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { onTestFinished, type TestContext } from 'vitest';
import type { DestinationTarget } from '../../src/base/config/destination-settings.ts';
import { attachmentOf, NOWHERE, tableAt } from '../../src/destinations/kinds.ts';
import type { LoadRequest } from '../../src/destinations/load-protocol.ts';
import type { LoadTable } from '../../src/destinations/load-tables.ts';
import { runLoad } from '../../src/destinations/run-child.ts';
import { fetchExtensions } from '../support/duckdb-extensions.ts';
import { temporaryFolder } from '../support/folders.ts';
import { startCatalog } from '../support/iceberg-catalog.ts';
import { NOT_TRIED } from '../support/needs.ts';
import { postgresFor } from '../support/test-postgres.ts';

/** The kinds of destinations, with both kinds of catalogs. */
export const KINDS = ['duckdb', 'sqlite', 'postgres', 'ducklake', 'ducklake in postgres', 'iceberg'] as const;

/** The table of the source: every type, and a key with a value that may be missing. */
export const TABLE: LoadTable = {
  name: 'things',
  about: "Things of the test's source.",
  key: ['id', 'part'],
  kind: 'data',
  source: 'replica.main."things"',
  columns: [
    { name: 'id', kind: 'uuid', about: 'Identity.' },
    { name: 'part', kind: 'text', about: 'Part; may be missing.' },
    { name: 'words', kind: 'text', about: "Any text, with ' in it." },
    { name: 'count', kind: 'integer', about: 'A count.' },
    { name: 'share', kind: 'number', about: 'A share.' },
    { name: 'is_live', kind: 'boolean', about: 'Whether it lives.' },
    { name: 'at', kind: 'timestamp', about: 'A time.' },
    { name: 'day', kind: 'day', about: 'A day.' },
    { name: 'more', kind: 'json', about: 'JSON.' },
  ],
};

const TYPES = { uuid: 'UUID', text: 'VARCHAR', integer: 'BIGINT', number: 'DOUBLE', boolean: 'BOOLEAN' } as const;
const OTHERS = { timestamp: 'TIMESTAMPTZ', day: 'DATE', json: 'JSON' } as const;

/** A destination of a test, and a source to load from. */
export interface Place {
  readonly target: DestinationTarget;
  readonly folder: string;
  /** Runs statements on the source, and increases the version of its data. */
  change(...statements: string[]): Promise<void>;
  load(changes?: Partial<LoadRequest>, signal?: AbortSignal): ReturnType<typeof runLoad>;
  /** Runs statements on the attached destination and returns the rows of the last one. */
  inDestination(...statements: string[]): Promise<unknown[][]>;
  /** Whether there is a destination. */
  exists(): Promise<boolean>;
  /** Rows of the loaded table as texts, in order; with the types of the source. */
  loaded(table?: LoadTable): Promise<unknown[][]>;
  /** Rows of the source as texts, in order. */
  source(table?: LoadTable): Promise<unknown[][]>;
}

/** Opens an empty destination, or skips the test. */
export async function openTarget(kind: (typeof KINDS)[number], context: TestContext) {
  const found = kind === 'duckdb' ? { folder: '' } : await fetchExtensions();
  if (typeof found === 'string') return context.skip(`${NOT_TRIED}${found}`);
  const folder = await temporaryFolder();
  const target = await targetOf(kind, folder, context);
  return { folder, target, extensions: { path: found.folder, isGiven: true } };
}

/** Opens an empty destination and a source with no rows, or skips the test. */
export async function openPlace(kind: (typeof KINDS)[number], context: TestContext): Promise<Place> {
  const { folder, target, extensions } = await openTarget(kind, context);
  const replica = join(folder, 'replica.duckdb');
  const withFile = async (statements: readonly string[]): Promise<unknown[][]> => {
    const instance = await DuckDBInstance.create(replica);
    return run(instance, ["SET TimeZone = 'UTC'", ...statements]);
  };
  const columns = TABLE.columns.map(({ name, kind: type }) => `"${name}" ${{ ...TYPES, ...OTHERS }[type]}`);
  await withFile([
    `CREATE TABLE things (${columns.join(', ')})`,
    'CREATE SCHEMA sync',
    'CREATE TABLE sync.requests (data_version BIGINT)',
    'CREATE TABLE sync.meta (name VARCHAR, value VARCHAR)',
    'CREATE TABLE sync.runs (run_id UUID, started_at TIMESTAMP, data_version BIGINT)',
    "INSERT INTO sync.runs VALUES (gen_random_uuid(), TIMESTAMP '2026-01-01', 1)",
  ]);
  const attachment = attachmentOf(target);
  const attached = async (attach: readonly string[], statements: readonly string[]): Promise<unknown[][]> => {
    const instance = await DuckDBInstance.create(':memory:', {
      extension_directory: extensions.path,
      autoinstall_known_extensions: 'false',
    });
    const loads = attachment.extensions.map((name) => `LOAD ${name}`);
    return run(instance, ["SET TimeZone = 'UTC'", ...loads, ...attach, ...statements]);
  };
  const inDestination = (...statements: string[]) => attached(attachment.statements, statements);
  return {
    target,
    folder,
    change: async (...statements) => {
      await withFile([...statements, 'UPDATE sync.runs SET data_version = data_version + 1']);
    },
    load: (changes = {}, signal = new AbortController().signal) => {
      const request: LoadRequest = {
        workspace: 'acme',
        tables: [TABLE],
        replica,
        target,
        temporary: join(folder, 'spill'),
        extensions,
        now: Date.parse('2026-03-01T00:00:00Z'),
        full: false,
        dryRun: false,
        ...changes,
      };
      return runLoad(request, signal, () => undefined);
    },
    inDestination,
    exists: async () => {
      const found = attachmentOf(target, false);
      if (found === NOWHERE) return false;
      const named = `SELECT 1 FROM duckdb_schemas() WHERE database_name = 'destination' AND schema_name = '${found.schema}'`;
      return attached(found.statements, [named]).then(
        ({ length }) => length > 0,
        () => false,
      );
    },
    loaded: (table = TABLE) =>
      inDestination(
        `SELECT ${textsOf(table)} FROM ${tableAt(attachment.schema, table.name)} WHERE workspace = 'acme' ORDER BY ALL`,
      ),
    source: (table = TABLE) => withFile([`SELECT ${textsOf(table)} FROM things ORDER BY ALL`]),
  };
}

async function targetOf(
  kind: (typeof KINDS)[number],
  folder: string,
  context: TestContext,
): Promise<DestinationTarget> {
  switch (kind) {
    case 'postgres':
      return { kind, url: (await postgresFor(context)).url() };
    case 'ducklake':
      return { kind, catalog: { path: join(folder, 'lake.sqlite') }, data: join(folder, 'lake') };
    case 'ducklake in postgres':
      return { kind: 'ducklake', catalog: { url: (await postgresFor(context)).url() }, data: join(folder, 'lake') };
    case 'iceberg':
      return { kind, url: await catalogFor(join(folder, 'lake'), context), warehouse: '', access: null };
    default:
      return { kind, path: join(folder, `destination.${kind}`) };
  }
}

// Starts a catalog for the duration of a test, or skips the test.
async function catalogFor(folder: string, { skip }: TestContext): Promise<string> {
  const catalog = await startCatalog(folder);
  if (typeof catalog === 'string') return skip(`${NOT_TRIED}${catalog}`);
  onTestFinished(() => catalog.close());
  return catalog.url;
}

function textsOf({ columns }: LoadTable): string {
  return columns
    .map(({ name, kind }) => `CAST(CAST("${name}" AS ${{ ...TYPES, ...OTHERS }[kind]}) AS VARCHAR)`)
    .join(', ');
}

async function run(instance: DuckDBInstance, statements: readonly string[]): Promise<unknown[][]> {
  const connection = await instance.connect();
  try {
    let rows: unknown[][] = [];
    for (const statement of statements) rows = (await connection.runAndReadAll(statement)).getRows();
    return rows;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
