import { statSync } from 'node:fs';
import { join } from 'node:path';
import { firstReadDay } from '../../contract/plausibility/item-times.ts';
import { addDays, dayOf } from '../../contract/time.ts';
import { agesOf } from '../../publish/snapshot/layout.ts';
import { listRawFiles } from '../../sync/raw/raw-log.ts';
import {
  dropImplausibleRecords,
  findImplausibleRecords,
  type ImplausibleRecords,
  type RecordBounds,
} from '../../warehouse/ledger/implausible-records.ts';
import { openReader } from '../../warehouse/reader.ts';
import { publish, withWarehouse } from '../../workspace/workspace.ts';
import { type CheckContext, counted, type Finding } from './check-context.ts';

/** Days after today that a record may be about: upstream's clock may be set forward, but not by centuries. */
const FUTURE_DAYS_MAX = 366;

/**
 * Checks the records that steer the next sync for impossible values: coverage, audits, verifications, calibration and raw pages.
 * `isDamaged` is whether the warehouse was found damaged.
 */
export async function checkRecords(check: CheckContext, isDamaged: boolean): Promise<Finding[]> {
  const { context, layout, owner, fix } = check;
  if (isDamaged) return [{ status: 'warning', message: 'not checked: the warehouse must be repaired first' }];
  if (owner !== null) return [{ status: 'ok', message: `not checked: ${owner} owns the warehouse` }];
  if (context.config.home !== null || agesOf(layout).live === 0) {
    return [{ status: 'ok', message: 'no records on this machine' }];
  }
  const bounds = await boundsOf(check);
  const found = await findIn(layout.warehouse, bounds);
  if (found.length === 0) return [{ status: 'ok', message: 'all records of earlier syncs are plausible' }];
  const tables = found.map(({ table, rows }) => `${table} (${counted(rows, 'row')})`).join(', ');
  if (!fix) {
    const advice = 'Run `sightline doctor --fix`, which deletes them; the next sync fetches the affected data again.';
    return [{ status: 'failure', message: `implausible records in ${tables}`, advice }];
  }
  await withWarehouse(context, { memoryLimitMb: 256 }, async ({ warehouse, copy }) => {
    await warehouse.database.transaction((session) => dropImplausibleRecords(session, bounds));
    await publish(warehouse, layout, copy);
  });
  return [{ status: 'ok', message: `implausible records in ${tables} were deleted`, fixed: true }];
}

async function boundsOf({ context, layout }: CheckContext): Promise<RecordBounds> {
  const files = await listRawFiles(layout.raw);
  const rawFiles = files.map(({ name }) => ({ name, bytes: statSync(join(layout.raw, name)).size }));
  const today = dayOf(context.clock.now());
  return { earliest: firstReadDay(today), latest: addDays(today, FUTURE_DAYS_MAX), rawFiles };
}

async function findIn(path: string, bounds: RecordBounds): Promise<ImplausibleRecords[]> {
  const reader = await openReader(path);
  try {
    return await findImplausibleRecords(async (sql) => (await reader.query(sql)).rows.map((row) => [...row]), bounds);
  } finally {
    reader.close();
  }
}
