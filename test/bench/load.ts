import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { declarations } from '../../schemas/catalogue.ts';
import type { DestinationTarget } from '../../src/base/config/destination-settings.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { tablesOf } from '../../src/operations/load.ts';
import { workOn } from '../../src/publish/destinations/child-work.ts';
import { attachmentOf, tableAt } from '../../src/publish/destinations/kinds.ts';
import { REPLICA } from '../../src/publish/snapshot/exported-table.ts';
import { openDatabase, type Session } from '../../src/warehouse/database.ts';
import { literal, quoted } from '../../src/warehouse/schema.ts';
import { fetchExtensions } from '../support/duckdb-extensions.ts';
import { openPostgres, stopSharedPostgres } from '../support/postgres.ts';
import { type Generated, generate } from './generate.ts';
import type { Part } from './measure.ts';
import { addDay } from './snapshot.ts';

/** The tables of a load without settings. */
const TABLES = tablesOf(createCatalogue(declarations), 'star');
/** Memory of a load, used for the baseline too. */
const MEMORY_MB = 512;
/** Time in which a process of PostgreSQL ends. */
const SERVER_MS = 500;
/** Clock ticks per second in /proc. */
const TICKS = 100;

export interface LoadFigures {
  /** CPU time of a load after one new day : first load, by kind of destination. */
  readonly newDay: Readonly<Record<string, number>>;
}

/**
 * Loads a generated workspace into each kind of destination on this machine: everything, nothing new, one new day. Compares with
 * `CREATE TABLE AS` of the same columns into the same destination. Returns the figures as lines of text, in seconds of CPU time of this
 * process; those of PostgreSQL itself are added.
 */
export async function loadFigures(folder: string, responses: number): Promise<Part<LoadFigures>> {
  const newDay: Record<string, number> = {};
  const lines = [`loads of ${responses.toLocaleString('en-US')} answers with their competitors, citations and marts`];
  const extensions = await fetchExtensions();
  const temporary = tmpdir();
  process.env['TMPDIR'] = folder;
  try {
    for (const kind of ['duckdb', 'sqlite', 'ducklake', 'postgres'] as const) {
      if (typeof extensions === 'string' && kind !== 'duckdb') {
        lines.push(`  ${kind}: NOT TRIED: ${extensions}`);
        continue;
      }
      const place = typeof extensions === 'string' ? '' : extensions.folder;
      const generated = await generate(join(folder, kind), responses);
      const [bare, own] = [await targetOf(kind, generated, 'bare'), await targetOf(kind, generated, 'own')];
      if (bare === null || own === null) {
        lines.push(`  ${kind}: NOT TRIED: there is no PostgreSQL`);
        continue;
      }
      const { start, copied } = await bareCopy(generated, bare, place);
      const load = (): Promise<number> => loadSeconds(generated, own, place);
      const first = (await load()) - start;
      const again = (await load()) - start;
      await addDay(generated, { publishes: true });
      const nightly = (await load()) - start;
      newDay[kind] = nightly / first;
      lines.push(
        `  ${kind.padEnd(10)} start ${start.toFixed(1)} s   first ${first.toFixed(1)} s   bare ${copied.toFixed(1)} s   ${(first / copied).toFixed(2)} : 1   nothing new ${again.toFixed(2)} s   one new day ${nightly.toFixed(1)} s, ${((100 * nightly) / first).toFixed(0)} %`,
      );
    }
    return { lines, figures: { newDay } };
  } finally {
    process.env['TMPDIR'] = temporary;
    await stopSharedPostgres(folder);
  }
}

async function targetOf(
  kind: 'duckdb' | 'sqlite' | 'ducklake' | 'postgres',
  { folder }: Generated,
  name: string,
): Promise<DestinationTarget | null> {
  if (kind === 'ducklake') return { kind, catalog: { path: join(folder, `${name}.sqlite`) }, data: join(folder, name) };
  if (kind !== 'postgres') return { kind, path: join(folder, `${name}.${kind}`) };
  const server = await openPostgres();
  return typeof server === 'string' ? null : { kind, url: server.url() };
}

async function loadSeconds({ copy, folder }: Generated, target: DestinationTarget, place: string): Promise<number> {
  const request = {
    ...{ workspace: 'default', tables: TABLES, replica: copy, target, temporary: join(folder, 'spill') },
    ...{ extensions: { path: place, isGiven: true }, now: Date.now(), full: false, dryRun: false },
  };
  return cpuSeconds(() =>
    workOn(request, async (reply) => {
      if (reply.kind === 'failed') throw new Error(reply.message);
    }),
  );
}

// Loads in this process, as the process of a load does, so that its CPU time is known.
async function cpuSeconds(work: () => Promise<unknown>): Promise<number> {
  const [before, serverBefore] = [process.cpuUsage(), await serverSeconds()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6 + (await serverSeconds()) - serverBefore;
}

// CPU time of PostgreSQL's ended processes. A process ends shortly after its client has closed the connection.
async function serverSeconds(): Promise<number> {
  const record = await readFile(join(tmpdir(), 'postgres.json'), 'utf8').catch(() => null);
  if (record === null) return 0;
  await delay(SERVER_MS);
  const stat = await readFile(`/proc/${(JSON.parse(record) as { pid: number }).pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15)
    .map(Number);
  return ((user ?? 0) + (system ?? 0)) / TICKS;
}

// Also measures what every load begins with: the start of DuckDB, its extensions, and the connection.
async function bareCopy({ copy, folder }: Generated, target: DestinationTarget, place: string) {
  const { extensions, statements, schema } = attachmentOf(target);
  const withTarget = async (work: (run: Session['run']) => Promise<void>): Promise<void> => {
    const database = await openDatabase(':memory:', {
      memoryLimitMb: MEMORY_MB,
      temporaryFolder: join(folder, 'bare-spill'),
      extensionFolder: place,
    });
    try {
      await database.exclusive(async ({ run }) => {
        for (const name of extensions) await run(`LOAD ${name}`);
        await run(`ATTACH ${literal(copy)} AS ${REPLICA} (READ_ONLY)`);
        for (const statement of statements) await run(statement);
        await work(run);
      });
    } finally {
      await database.close();
    }
  };
  const start = await cpuSeconds(() => withTarget(async () => undefined));
  const all = await cpuSeconds(() =>
    withTarget(async (run) => {
      if (schema !== 'main') await run(`CREATE SCHEMA destination.${quoted(schema)}`);
      // As a load does, because each commit to a lake takes time.
      await run('BEGIN TRANSACTION');
      for (const { name, columns, source } of TABLES)
        await run(
          `CREATE TABLE ${tableAt(schema, name)} AS SELECT ${columns.map((one) => quoted(one.name)).join(', ')} FROM ${source}`,
        );
      await run('COMMIT');
    }),
  );
  return { start, copied: all - start };
}
