import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Finding } from '../../src/operations/doctor/check-context.ts';
import { checkRecords } from '../../src/operations/doctor/check-implausible.ts';
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { contextIn } from '../operations/world-context.ts';
import { type DamagedCopy, makeTemplate, type Template } from './workspace.ts';

const CHANGES = [
  "UPDATE sync.coverage SET range_to = DATE '9999-12-31' WHERE resource = 'prompts'",
  "UPDATE sync.coverage SET closed_at = TIMESTAMP '9999-12-31 23:59:59' WHERE resource = 'engines'",
  `INSERT INTO sync.checkpoints SELECT slice, resource, brand_id, DATE '0001-01-01', range_to, pass_id, 1, 'x', NULL, [], 0,
     closed_at FROM sync.coverage LIMIT 1`,
  `INSERT INTO sync.audits SELECT resource, brand_id, DATE '0001-01-01', closed_at, true, 1, 1, '', NULL, NULL, NULL
     FROM sync.coverage LIMIT 1`,
  'UPDATE sync.calibration SET agreed = compared + 1',
  'UPDATE sync.raw_pages SET position = 123456789012 WHERE rowid = (SELECT min(rowid) FROM sync.raw_pages)',
];
const FOUND = ['coverage (2 rows)', 'checkpoints (1 row)', 'audits (1 row)', 'calibration (', 'raw_pages (1 row)'];

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});
afterAll(() => template.close());

/** The records that the doctor finds. */
function check({ folder, data }: DamagedCopy, fix = false): Promise<Finding[]> {
  const surroundings = { layout: layoutOf(data), folder, isOffline: true, owner: null };
  return checkRecords({ context: contextIn(folder), fix, ...surroundings }, false);
}

test('`doctor --fix` drops records that no sync can have written, and the next sync reads their data again', async () => {
  const patient = await template.copy();
  const inWarehouse = async (statements: readonly string[]): Promise<unknown[]> => {
    const database = await openDatabase(join(patient.data, 'warehouse.duckdb'));
    for (const sql of statements) await database.exclusive((session) => session.run(sql));
    const rows = await database.exclusive((session) =>
      session.query("SELECT slice FROM sync.coverage UNION ALL SELECT DISTINCT 'calibration' FROM sync.calibration"),
    );
    await database.close();
    return rows.flat();
  };
  const before = await inWarehouse(CHANGES);
  const [found] = await check(patient);
  expect(found?.status).toBe('failure');
  for (const text of FOUND) expect(found?.message).toContain(`sync.${text}`);
  const fixed = { status: 'ok', message: expect.stringMatching(/ were deleted$/), fixed: true };
  expect(await check(patient, true)).toEqual([fixed]);
  expect(await check(patient)).toEqual([{ status: 'ok', message: expect.stringContaining('plausible') }]);
  expect(await inWarehouse([])).toHaveLength(before.length - 3);
  const { code, text } = await patient.run('sync');
  expect(code, text).toBe(0);
  expect(await inWarehouse([])).toEqual(expect.arrayContaining(before));
  await template.expectRepaired(patient);
});

test('rows of raw pages whose file is missing are no damage, and never belong to a new file of the same name', async () => {
  const patient = await template.copy();
  const backup = join(patient.folder, 'backup.duckdb');
  expect(await patient.run('backup', backup)).toMatchObject({ code: 0 });
  // As on another machine, which has no raw pages.
  rmSync(patient.data, { recursive: true });
  expect(await patient.run('restore', backup, '--yes')).toMatchObject({ code: 0 });
  expect(await check(patient)).toMatchObject([{ status: 'ok' }]);
  expect(await patient.run('sync', '--only', 'prompts')).toMatchObject({ code: 0 });
  const repeated = 'SELECT CAST(count(*) - count(DISTINCT (file, position)) AS INTEGER) FROM sync.raw_pages';
  const database = await openDatabase(join(patient.data, 'warehouse.duckdb'));
  expect(await database.exclusive((session) => session.query(repeated))).toEqual([[0]]);
  await database.close();
  rmSync(join(patient.data, 'raw'), { recursive: true });
  expect(await patient.run('sync', '--full', '--only', 'prompts')).toMatchObject({ code: 0 });
  expect(await check(patient)).toMatchObject([{ status: 'ok' }]);
});
