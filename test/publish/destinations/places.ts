import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, expect, onTestFinished, type TestContext } from 'vitest';
import type { DestinationTarget } from '../../../src/base/config/destination-settings.ts';
import { SightlineError } from '../../../src/base/errors.ts';
import { workOn } from '../../../src/publish/destinations/child-work.ts';
import { type Attachment, attachmentOf, NOWHERE, tableAt } from '../../../src/publish/destinations/kinds.ts';
import type { Loaded, LoadRequest } from '../../../src/publish/destinations/load-protocol.ts';
import type { LoadTable } from '../../../src/publish/destinations/loaded-table.ts';
import { DESTINATION } from '../../../src/publish/destinations/own-sql.ts';
import { runLoad } from '../../../src/publish/destinations/run-child.ts';
import { fetchExtensions } from '../../support/duckdb-extensions.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { startCatalog } from '../../support/iceberg-catalog.ts';
import { type Mariadb, startMariadb } from '../../support/mariadb.ts';
import { NOT_TRIED } from '../../support/needs.ts';
import { postgresFor } from '../../support/test-postgres.ts';

/** The kinds of destinations that can be homes, with both kinds of catalogs of a lake. */
export const HOME_KINDS = ['duckdb', 'sqlite', 'postgres', 'ducklake', 'ducklake in postgres'] as const;
/** The kinds of destinations. */
export const KINDS = [...HOME_KINDS, 'mysql', 'iceberg'] as const;
type Kind = (typeof KINDS)[number];

/** Servers that the tests of a file share. */
export interface SharedServers {
  /** Returns the URL of an empty Iceberg catalog for a test, or skips the test. */
  catalog(context: TestContext): Promise<string>;
  /** Returns the shared MariaDB server, or skips the test. */
  mariadb(context: TestContext): Promise<Mariadb>;
}

/** The table of the source: every type, a key with a value that may be missing, and days of a time that is not in the key. */
export const TABLE: LoadTable = {
  name: 'things',
  about: "Things of the test's source.",
  key: ['id', 'part'],
  kind: 'data',
  time: 'at',
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
  /** Schema of its tables. */
  readonly schema: string;
  /** Runs statements on the source, and increases the version of its data. */
  change(...statements: string[]): Promise<void>;
  load(changes?: Partial<LoadRequest>): Promise<Loaded['tables']>;
  /** Loads in a process of its own, which is killed if the signal aborts. */
  loadApart(signal?: AbortSignal): ReturnType<typeof runLoad>;
  /** Runs statements on the attached destination and returns the rows of the last one. */
  inDestination(...statements: string[]): Promise<unknown[][]>;
  /** Whether there is a destination. */
  exists(): Promise<boolean>;
  /** Rows of the loaded table as texts, in order; with the types of the source. */
  loaded(table?: LoadTable): Promise<unknown[][]>;
  /** Rows of the source as texts, in order. */
  source(table?: LoadTable): Promise<unknown[][]>;
}

/** Starts servers at their first use, which are shared by the tests of a file. */
export function shareServers(): SharedServers {
  const catalogOf = shareServer(startCatalog);
  return {
    mariadb: shareServer(startMariadb),
    catalog: async (context) => {
      const { url } = await catalogOf(context);
      onTestFinished(() => emptyCatalog(url));
      return url;
    },
  };
}

function shareServer<T extends { close(): Promise<void> }>(start: (folder: string) => Promise<T | string>) {
  const closings: (() => Promise<void>)[] = [];
  let started: Promise<T | string> | null = null;
  afterAll(async () => {
    for (const close of closings.toReversed()) await close();
  });
  return async ({ skip }: TestContext): Promise<T> => {
    started ??= temporaryFolder((close) => closings.push(close)).then(start);
    const server = await started;
    if (typeof server === 'string') return skip(`${NOT_TRIED}${server}`);
    if (!closings.includes(server.close)) closings.push(server.close);
    return server;
  };
}

async function emptyCatalog(url: string): Promise<void> {
  const schema = `${url}/v1/namespaces/sightline`;
  const { identifiers } = (await (await fetch(`${schema}/tables`)).json()) as { identifiers?: { name: string }[] };
  for (const { name } of identifiers ?? []) await fetch(`${schema}/tables/${name}`, { method: 'DELETE' });
  await fetch(schema, { method: 'DELETE' });
}

/** Opens an empty destination that can be a home, or skips the test. */
export function openTarget(kind: (typeof HOME_KINDS)[number], context: TestContext) {
  const none = () => expect.fail(`a destination of kind ${kind} cannot be a home`);
  return openAny(kind, context, { catalog: none, mariadb: none });
}

async function openAny(kind: Kind, context: TestContext, servers: SharedServers, disk?: string) {
  const found = kind === 'duckdb' ? { folder: '' } : await fetchExtensions();
  if (typeof found === 'string') return context.skip(`${NOT_TRIED}${found}`);
  const folder = await temporaryFolder();
  const target = await targetOf(kind, disk ?? folder, context, servers);
  return { folder, target, extensions: { path: found.folder, isGiven: true } };
}

/** Opens an empty destination, with its files in `disk`, and a source with no rows, or skips the test. */
export async function openPlace(
  kind: Kind,
  context: TestContext,
  servers: SharedServers,
  disk?: string,
): Promise<Place> {
  const { folder, target, extensions } = await openAny(kind, context, servers, disk);
  const replica = join(folder, 'replica.duckdb');
  const withFile = async (statements: readonly string[]): Promise<unknown[][]> => {
    const instance = await DuckDBInstance.create(replica);
    try {
      return await run(instance, ["SET TimeZone = 'UTC'", ...statements]);
    } finally {
      instance.closeSync();
    }
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
  const inReader = await openReaderOf(attachment, extensions.path);
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
  };
  const inDestination = (...statements: string[]) => inReader([...attachment.statements, ...statements]);
  return {
    target,
    folder,
    schema: attachment.schema,
    change: async (...statements) => {
      await withFile([...statements, 'UPDATE sync.runs SET data_version = data_version + 1']);
    },
    load: (changes = {}) => loadHere({ ...request, ...changes }),
    loadApart: (signal = new AbortController().signal) => runLoad(request, signal, () => undefined),
    inDestination,
    exists: async () => {
      const found = attachmentOf(target, false);
      if (found === NOWHERE) return false;
      const named = `SELECT 1 FROM duckdb_tables() WHERE database_name = 'destination' AND schema_name = '${found.schema}'`;
      return inReader([...found.statements, named]).then(
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

// Loads in this process, as the process of a load does.
async function loadHere(request: LoadRequest): Promise<Loaded['tables']> {
  let result: Loaded['tables'] = null;
  await workOn(request, async (reply) => {
    if (reply.kind === 'failed') throw new SightlineError(reply.code, reply.message);
    if (reply.kind === 'done') result = (reply.result as Loaded).tables;
  });
  return result;
}

async function targetOf(
  kind: Kind,
  folder: string,
  context: TestContext,
  servers: SharedServers,
): Promise<DestinationTarget> {
  switch (kind) {
    case 'postgres':
      return { kind, url: (await postgresFor(context)).url() };
    case 'ducklake':
      return { kind, catalog: { path: join(folder, 'lake.sqlite') }, data: join(folder, 'lake') };
    case 'ducklake in postgres':
      return { kind: 'ducklake', catalog: { url: (await postgresFor(context)).url() }, data: join(folder, 'lake') };
    case 'mysql':
      return { kind, url: await (await servers.mariadb(context)).create(`test_${randomUUID().slice(0, 8)}`) };
    case 'iceberg':
      return { kind, url: await servers.catalog(context), warehouse: '', access: null };
    default:
      return { kind, path: join(folder, `destination.${kind}`) };
  }
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
  }
}

// DuckDB verifies an extension whenever a database loads it, which takes longer than the statements of a test, so one database is used again.
async function openReaderOf({ extensions }: Attachment, folder: string) {
  const instance = await DuckDBInstance.create(':memory:', {
    extension_directory: folder,
    autoinstall_known_extensions: 'false',
  });
  onTestFinished(() => instance.closeSync());
  await run(
    instance,
    extensions.map((name) => `LOAD ${name}`),
  );
  return async (statements: readonly string[]): Promise<unknown[][]> => {
    try {
      return await run(instance, ["SET TimeZone = 'UTC'", ...statements]);
    } finally {
      await run(instance, [`DETACH DATABASE IF EXISTS ${DESTINATION}`]);
      const secrets = await run(instance, ['SELECT name FROM duckdb_secrets()']);
      await run(
        instance,
        secrets.map(([name]) => `DROP SECRET ${String(name)}`),
      );
    }
  };
}

/** Returns an id of the source's table. */
export function idOf(number: number): string {
  return `0000000${number}-0000-4000-8000-000000000000`;
}

/** Checks that a table has the rows of the source. PostgreSQL has no character NUL, and MySQL no negative zero. */
export async function expectEqual(place: Place, table: LoadTable = TABLE): Promise<void> {
  const source = await place.source(table);
  const { kind } = place.target;
  const allowed =
    kind === 'postgres'
      ? source.map((values) => values.map(withoutNul))
      : kind === 'mysql'
        ? source.map((values) => values.map((value) => (value === '-0.0' ? '0.0' : value)))
        : source;
  expect((await place.loaded(table)).map((values) => JSON.stringify(values)).toSorted()).toEqual(
    allowed.map((values) => JSON.stringify(values)).toSorted(),
  );
}

function withoutNul(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\u0000', '\u2400') : value;
}
