import { mkdir, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { publishedMarts } from '../../src/metrics/marts/published.ts';
import { catalogueTables, type ExportedTable, REPLICA, sourceOf } from '../../src/publish/snapshot/exported-table.ts';
import { parquetColumns, parquetOptions } from '../../src/publish/snapshot/parquet.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { timedTables } from '../../src/warehouse/file/refresh-copy.ts';
import { publishAnalytics } from '../../src/warehouse/replica.ts';
import { startCli } from './children.ts';
import { type Generated, generate } from './generate.ts';
import { finish, type Part } from './measure.ts';

/** Memory and threads of an export, used for the baseline too. */
const MEMORY_MB = 256;
/** Marts and compression of snapshots without settings. */
const MARTS = 'star';
const COMPRESSION = 'snappy';

export interface SnapshotFigures {
  /** Time of a complete snapshot : bare COPY. */
  readonly toBare: number;
  /** CPU time after one new day : complete snapshot. */
  readonly newDay: number;
  readonly replicaNewDay: number;
}

/**
 * Exports snapshots of a generated warehouse with `responses` responses and their children, in its own process. Compares
 * them with DuckDB's bare COPY of the same tables and marts, unsorted and unchecked. Returns the figures as lines of text.
 */
export async function snapshotFigures(folder: string, responses: number): Promise<Part<SnapshotFigures>> {
  const generated = await generate(folder, responses);
  const bare = await bareCopies(generated);
  await publish(generated);
  const full = await exported(folder, generated);
  await addDay(generated, { publishes: true });
  const nightly = await exported(folder, generated);
  const unchanged = await exported(folder, generated);
  const analytics = await analyticsFigures(generated);
  const part = (of: number, whole: number): string => `${((100 * of) / whole).toFixed(1)} %`;
  const figures = {
    toBare: full.seconds / bare,
    newDay: nightly.cpu / full.cpu,
    replicaNewDay: analytics.nightly / analytics.own,
  };
  const lines = [
    `snapshots of ${responses.toLocaleString('en-US')} answers with their competitors and citations`,
    `  full, with hashes, read back                     ${shown(full)}`,
    `  bare COPY, the same columns and options          ${bare.toFixed(1)} s   ${ratio(full.seconds, bare)}`,
    `  after one new day                                ${shown(nightly)}   ${part(nightly.cpu, full.cpu)} of the CPU, ${part(nightly.bytes, full.bytes)} of the bytes`,
    `  with nothing new                                 ${shown(unchanged)}   ${part(unchanged.cpu, full.cpu)} of the CPU`,
    `  the analysts' copy                               ${analytics.own.toFixed(1)} s of CPU   COPY FROM DATABASE ${analytics.bare.toFixed(1)} s   ${ratio(analytics.own, analytics.bare)}`,
    `  the same after one new day                       ${analytics.nightly.toFixed(1)} s   ${part(analytics.nightly, analytics.own)} of it`,
  ];
  return { lines, figures };
}

interface Exported {
  readonly seconds: number;
  /** CPU time in seconds. */
  readonly cpu: number;
  readonly bytes: number;
  readonly peakMb: number;
}

function shown({ seconds, cpu, bytes, peakMb }: Exported): string {
  return `${seconds.toFixed(1)} s   ${cpu.toFixed(1)} s of CPU   ${Math.round(bytes / 1e6)} MB written   peak ${peakMb} MB resident`;
}

function ratio(own: number, bare: number): string {
  return `${(own / bare).toFixed(2)} : 1`;
}

// Measures the whole command, including the start of its process.
async function exported(folder: string, { copy }: Generated): Promise<Exported> {
  // As after a sync, which publishes the replica itself.
  await utimes(copy, new Date(), new Date());
  const { output, seconds, cpu, peakMb } = await finish(startCli(folder, ['export', '--json']));
  const { written } = JSON.parse(output) as { written: { bytes: number } };
  return { seconds, cpu, bytes: written.bytes, peakMb: Math.round(peakMb) };
}

async function withDatabase<T>({ warehouse }: Generated, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(warehouse, { memoryLimitMb: MEMORY_MB, temporaryFolder: `${warehouse}.tmp` });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

async function bareCopies(generated: Generated): Promise<number> {
  const catalogue = createCatalogue(declarations);
  const marts = publishedMarts(MARTS);
  const folder = join(generated.folder, 'bare');
  await mkdir(folder);
  const copySql = (table: ExportedTable): string => {
    const columns = parquetColumns(table).map(({ name, type }) => `CAST("${name}" AS ${type}) AS "${name}"`);
    const options = parquetOptions({ compression: COMPRESSION });
    return `COPY (SELECT ${columns.join(', ')} FROM ${sourceOf(table)}) TO '${folder}/${table.name}.parquet' (${options})`;
  };
  const seconds = await withDatabase(generated, (database) =>
    database.exclusive(async ({ run }) => {
      await run(`ATTACH '${generated.copy}' AS ${REPLICA} (READ_ONLY)`);
      const startedAt = performance.now();
      for (const table of [...catalogueTables(catalogue), ...marts]) await run(copySql(table));
      return (performance.now() - startedAt) / 1000;
    }),
  );
  await rm(folder, { recursive: true });
  return seconds;
}

/** Adds a day, a copy of the last one, and publishes the replica if it is asked for. */
export async function addDay(generated: Generated, { publishes = false } = {}): Promise<void> {
  const next = (table: string, ids: string): string =>
    `INSERT INTO ${table} SELECT * REPLACE (${ids}, created_at + INTERVAL 1 DAY AS created_at) FROM ${table}
     WHERE created_at >= (SELECT max(created_at) FROM ${table}) - INTERVAL 1 DAY`;
  const parent = `CAST(md5('next' || response_id) AS UUID) AS response_id`;
  await withDatabase(generated, (database) =>
    database.exclusive(async (session) => {
      await session.run(next('responses', `CAST(md5('next' || id) AS UUID) AS id`));
      await session.run(next('response_competitors', parent));
      await session.run(next('response_citations', parent));
      // The last version of the data was that of no run.
      if (publishes) await session.run('UPDATE sync.runs SET data_version = coalesce(data_version, 0) + 1');
    }),
  );
  if (publishes) await publish(generated);
}

// Publishes the replica as a sync does, and returns the CPU time in seconds.
function publish(generated: Generated, path = generated.copy): Promise<number> {
  const timed = timedTables(createCatalogue(declarations));
  return withDatabase(generated, (database) => cpuSeconds(() => publishAnalytics(database, path, { timed })));
}

async function cpuSeconds(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

async function analyticsFigures(generated: Generated): Promise<{ own: number; bare: number; nightly: number }> {
  const target = join(generated.folder, 'bare.duckdb');
  const bare = await withDatabase(generated, (database) =>
    database.exclusive(({ run }) =>
      cpuSeconds(async () => {
        await run(`ATTACH '${target}' AS bare (STORAGE_VERSION 'v1.0.0')`);
        await run('COPY FROM DATABASE warehouse TO bare');
        await run('DETACH bare');
      }),
    ),
  );
  await rm(target, { force: true });
  const other = join(generated.folder, 'own.duckdb');
  const own = await publish(generated, other);
  await addDay(generated);
  return { own, bare, nightly: await publish(generated, other) };
}
