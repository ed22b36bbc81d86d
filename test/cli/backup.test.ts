import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/warehouse/database.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { withWarehouseFile } from '../support/warehouse-file.ts';
import { expectRefusal, rowsIn, shareCli } from './helpers.ts';

const TABLES = [...catalogue.tables, ...catalogue.histories].map(({ name }) => name);
const COUNTS = TABLES.map((name) => `SELECT '${name}' AS name, count(*) AS rows FROM "${name}"`).join(' UNION ALL ');
/** Types of all columns. Times have a time zone in a replica only, and the warehouse is read instead if it is newer. */
const TYPES = `SELECT table_name, column_name, replace(data_type, ' WITH TIME ZONE', '') AS type
  FROM duckdb_columns() WHERE schema_name = 'main' ORDER BY ALL`;
/** Resources that the syncs read. */
const ONLY = ['responses', 'prompts'];
/** A sync reads only what is missing here. */
const COVERAGE = 'SELECT slice, closed_at, rows FROM sync.coverage ORDER BY ALL';

const workspace = shareCli({ world: 'tiny' });
let held: Record<string, unknown>[];
let covered: Record<string, unknown>[];
let snapshot: string;

beforeAll(async () => {
  const { done, json, rows, sandbox } = workspace;
  sandbox.world.advance({ editedResponses: 3, deletedResponses: 2, pausedPrompts: 1 });
  await done('sync', '--only', ...ONLY);
  [held, covered] = [await rows(COUNTS), await rows(COVERAGE)];
  snapshot = (await json('export')).path;
});

test('backup writes the complete warehouse to one file and does not overwrite an existing file', async () => {
  const { run, json, folder, data } = workspace;
  const path = join(folder, 'copy.duckdb');
  await writeFile(path, 'of another program');
  expectRefusal(await run('backup', 'copy.duckdb', '--json'), 'usage', true);
  expect(await readFile(path, 'utf8')).toBe('of another program');
  const written = await json('backup', 'copy.duckdb', '--force');
  expect(written).toMatchObject({ path, stale: false });
  expect(written.tables).toBeGreaterThan(TABLES.length);
  expect(written.rows).toBeGreaterThan(held.reduce((sum, { rows }) => sum + Number(rows), 0));
  expect((await readdir(folder)).filter((name) => name.startsWith('copy'))).toEqual(['copy.duckdb']);
  for (const name of ['warehouse.duckdb', 'warehouse.duckdb.wal', 'keys.json']) {
    expectRefusal(await run('backup', join(data, name), '--force', '--json'), 'usage', true);
  }
});

describe('restore', () => {
  test('from a backup restores all rows, and what was read of upstream', async () => {
    const { run, json, rows, data } = workspace;
    expectRefusal(await run('restore', 'copy.duckdb', '--json'), 'usage', true);
    expectRefusal(await run('restore', 'copy.duckdb', '--force', '--json'), 'usage', true);
    const restored = await json('restore', 'copy.duckdb', '--force', '--yes');
    expect(restored).toMatchObject({ kind: 'backup', continues: true, path: join(data, 'warehouse.duckdb') });
    expect(existsSync(restored.kept)).toBe(true);
    expect(await rows(COUNTS)).toEqual(held);
    expect(await rows(COVERAGE)).toEqual(covered);
  });

  test('from a snapshot restores all rows with their types, and a sync completes them', async () => {
    const { done, folder, env, sandbox } = workspace;
    const elsewhere = ['--data-dir', 'rebuilt'];
    const rows = (sql: string) => rowsIn(folder, { ...env, SIGHTLINE_DATA_DIR: 'rebuilt' }, sql);
    await cp(snapshot, join(folder, 'alone'), { recursive: true });
    const { stdout, stderr } = await done('restore', 'alone', ...elsewhere, '--json');
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'snapshot', continues: false, kept: null, missing: [] });
    expect(stderr).toContain('fetches everything again');
    expect(await rows(COUNTS)).toEqual(held);
    expect(await rows(TYPES)).toEqual(await workspace.rows(TYPES));
    // Two different restored snapshots must not have the same version, which a server would treat as unchanged.
    const origin = await rows("SELECT value FROM sync.meta WHERE name = 'restored_from'");
    const { id } = JSON.parse(await readFile(join(snapshot, 'manifest.json'), 'utf8'));
    expect(origin).toEqual([{ value: expect.stringMatching(new RegExp(`^${id} [0-9a-f]{64}$`)) }]);
    sandbox.world.advance({ editedResponses: 2, deletedResponses: 1 });
    await done('sync', '--only', ...ONLY, ...elsewhere);
    await withWarehouseFile(join(folder, 'rebuilt/default/warehouse.duckdb'), sandbox, (opened) =>
      expectEqualToUpstream(opened, { only: ONLY }),
    );
  });

  test('rejects sources that are not a warehouse, or are newer, incomplete or damaged, and changes nothing', async () => {
    const { run, folder } = workspace;
    await writeFile(join(folder, 'text.duckdb'), 'this is no database');
    const damage = async (name: string, sql: string): Promise<void> => {
      await cp(join(folder, 'copy.duckdb'), join(folder, name));
      const database = await openDatabase(join(folder, name));
      await database.exclusive((session) => session.run(sql));
      await database.close();
    };
    await damage('newer.duckdb', "UPDATE sync.meta SET value = '999' WHERE name = 'schema_version'");
    await damage('lacking.duckdb', 'DROP TABLE response_citations');
    const bits = await readFile(join(folder, 'copy.duckdb'));
    // Damage several blocks, because one of them may be free.
    for (let at = bits.length >> 1; at < bits.length; at += 262_144) bits[at] = (bits[at] as number) ^ 1;
    await writeFile(join(folder, 'bits.duckdb'), bits);
    await mkdir(join(folder, 'empty'));
    await cp(snapshot, join(folder, 'flipped'), { recursive: true });
    const manifest = JSON.parse(await readFile(join(folder, 'flipped', 'manifest.json'), 'utf8'));
    const file = join(folder, 'flipped', manifest.tables[0].files[0].path);
    const bytes = await readFile(file);
    bytes[20] = (bytes[20] as number) ^ 1;
    await chmod(file, 0o644);
    await writeFile(file, bytes);
    const into = ['--data-dir', 'untouched', '--json'];
    expectRefusal(await run('restore', 'newer.duckdb', ...into), 'warehouse_newer', true);
    for (const invalid of ['text.duckdb', 'lacking.duckdb', 'bits.duckdb', 'empty', 'flipped'])
      expectRefusal(await run('restore', invalid, ...into), 'warehouse_invalid', true);
    expectRefusal(await run('restore', 'nothing', ...into), 'usage', true);
    expect(existsSync(join(folder, 'untouched', 'default', 'warehouse.duckdb'))).toBe(false);
    expect(await readlink(join(snapshot, '..', 'latest'))).toBe(manifest.id);
  });
});
