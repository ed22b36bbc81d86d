import type { Catalogue } from '../../contract/catalogue.ts';
import { eachDay } from '../../contract/time.ts';
import type { Query } from '../database.ts';
import type { HiddenRows } from '../file/copy-database.ts';
import { literal, quoted } from '../schema.ts';

/** Windows of which some pages are stored, but not all. */
export interface UnfinishedWindows {
  /** Rows of days that no complete read has covered: a reader would take them for whole days. */
  readonly hidden: readonly HiddenRows[];
  /** Whether the running sync reads a window again, so that its days are a mixture of two reads. */
  readonly isMixed: boolean;
}

/** Reads the windows that a sync has begun and not finished. */
export async function readUnfinishedWindows(query: Query, catalogue: Catalogue): Promise<UnfinishedWindows> {
  const hidden: HiddenRows[] = [];
  let isMixed = false;
  for (const resource of catalogue.resources.filter(({ change }) => change.kind === 'window')) {
    const open = await query(
      `SELECT CAST(brand_id AS VARCHAR), strftime(range_from, '%Y-%m-%d'), strftime(range_to, '%Y-%m-%d'),
         bool_or(pass_id IN (SELECT pass_id FROM sync.runs WHERE status = 'running'))
       FROM sync.checkpoints WHERE resource = ${literal(resource.name)} AND range_from IS NOT NULL
       GROUP BY ALL ORDER BY ALL`,
    );
    if (open.length === 0) continue;
    const covered = await readCoveredDays(query, resource.name);
    for (const [brandId, from, to, isRunning] of open as [string, string, string, boolean][]) {
      const known = covered.get(brandId) ?? new Set<string>();
      const all = [...eachDay(from, to)];
      const days = all.filter((day) => !known.has(day));
      // Nobody reads the window of another pass now, so waiting would not end its mixture.
      if (isRunning && days.length < all.length) isMixed = true;
      if (days.length === 0) continue;
      for (const table of resource.derived) {
        if (table.extent.kind !== 'time') continue;
        const time = quoted(table.extent.field);
        const where = `brand_id = CAST(${literal(brandId)} AS UUID) AND CAST(${time} AS DATE) IN (${days.map((day) => `DATE ${literal(day)}`).join(', ')})`;
        for (const { name } of [table, ...table.children]) hidden.push({ table: name, where });
      }
    }
  }
  return { hidden, isMixed };
}

async function readCoveredDays(query: Query, resource: string): Promise<Map<string, Set<string>>> {
  const rows = await query(
    `SELECT CAST(brand_id AS VARCHAR), strftime(range_from, '%Y-%m-%d'), strftime(range_to, '%Y-%m-%d')
     FROM sync.coverage WHERE resource = ${literal(resource)} AND range_from IS NOT NULL AND range_to IS NOT NULL`,
  );
  const covered = new Map<string, Set<string>>();
  for (const [brandId, from, to] of rows.map((row) => row.map(String) as [string, string, string])) {
    const days = covered.get(brandId) ?? new Set<string>();
    covered.set(brandId, days);
    for (const day of eachDay(from, to)) days.add(day);
  }
  return covered;
}
