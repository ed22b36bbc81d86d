import { join } from 'node:path';
import { declarations } from '../../schemas/catalogue.ts';
import type { DestinationTarget } from '../../src/base/config/destination-settings.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { attachmentOf, tableAt } from '../../src/destinations/kinds.ts';
import { runLoad } from '../../src/destinations/run-child.ts';
import { tablesOf } from '../../src/operations/load.ts';
import { REPLICA } from '../../src/snapshot/exported-table.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { literal, quoted } from '../../src/warehouse/schema.ts';
import { fetchExtensions } from '../support/duckdb-extensions.ts';
import { openPostgres, stopSharedPostgres } from '../support/postgres.ts';
import { type Generated, generate } from './generate.ts';
import { timeMs } from './measure.ts';
import { addDay } from './snapshot.ts';

/** The tables of a load without settings. */
const TABLES = tablesOf(createCatalogue(declarations), 'star');
/** Memory of a load, used for the baseline too. */
const MEMORY_MB = 512;

/**
 * Loads a generated workspace into each kind of destination on this machine: everything, nothing new, one new day. Compares with
 * `CREATE TABLE AS` of the same columns into the same destination. Returns the figures as lines of text.
 */
export async function loadFigures(folder: string, responses: number): Promise<string[]> {
  const lines = [`loads of ${responses.toLocaleString('en-US')} answers with their competitors, citations and marts`];
  const extensions = await fetchExtensions();
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
      const copied = await bareCopy(generated, bare, place);
      const load = (): Promise<number> => loadSeconds(generated, own, place);
      const [first, again] = [await load(), await load()];
      await addDay(generated, { publishes: true });
      const nightly = await load();
      lines.push(
        `  ${kind.padEnd(10)} first ${first.toFixed(1)} s   bare ${copied.toFixed(1)} s   ${(first / copied).toFixed(2)} : 1   nothing new ${again.toFixed(1)} s   one new day ${nightly.toFixed(1)} s, ${((100 * nightly) / first).toFixed(0)} %`,
      );
    }
    return lines;
  } finally {
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
  return (await timeMs(() => runLoad(request, new AbortController().signal, () => undefined))) / 1000;
}

async function bareCopy({ copy, folder }: Generated, target: DestinationTarget, place: string): Promise<number> {
  const { extensions, statements, schema } = attachmentOf(target);
  const database = await openDatabase(':memory:', {
    memoryLimitMb: MEMORY_MB,
    temporaryFolder: join(folder, 'bare-spill'),
    extensionFolder: place,
  });
  try {
    return await database.exclusive(async ({ run }) => {
      for (const name of extensions) await run(`LOAD ${name}`);
      await run(`ATTACH ${literal(copy)} AS ${REPLICA} (READ_ONLY)`);
      for (const statement of statements) await run(statement);
      const startedAt = performance.now();
      if (schema !== 'main') await run(`CREATE SCHEMA destination.${quoted(schema)}`);
      for (const { name, columns, source } of TABLES)
        await run(
          `CREATE TABLE ${tableAt(schema, name)} AS SELECT ${columns.map((one) => quoted(one.name)).join(', ')} FROM ${source}`,
        );
      return (performance.now() - startedAt) / 1000;
    });
  } finally {
    await database.close();
  }
}
