import type { Catalogue, Resource } from '../../contract/catalogue.ts';
import { VALID_FROM, VALID_TO } from '../../contract/histories.ts';
import { firstReadDay, itemDays, timesOf } from '../../contract/plausibility/item-times.ts';
import { FUTURE_MS_MAX } from '../../contract/plausibility/run-clock.ts';
import { OBSERVED_AT, type ResourceTable } from '../../contract/tables.ts';
import { addDays, dayOf } from '../../contract/time.ts';
import type { Session } from '../database.ts';
import { toTimestampText } from '../ledger/ledger.ts';
import { literal, quoted } from '../schema.ts';
import type { TombstoneWriter } from './tombstones.ts';

/**
 * Removes the effects of wrong dates and clocks, as of the run's time `now`. Marks rows with implausible times and rows
 * of future ranges as deleted. Drops coverage, checkpoints and audits of such days, and those with a future time of
 * their own. Sets the engine's own future times to `now`. Column statistics let DuckDB skip most data. Returns the
 * number of marked rows.
 */
export async function removeImplausible(
  session: Session,
  catalogue: Catalogue,
  tombstonesOf: (resource: string, table: string) => TombstoneWriter,
  now: number,
): Promise<number> {
  const today = dayOf(now);
  const at = toTimestampText(now);
  const future = `TIMESTAMP ${literal(toTimestampText(now + FUTURE_MS_MAX))}`;
  let marked = 0;
  for (const { resource, table, where } of await suspects(session, catalogue, today)) {
    marked += await tombstonesOf(resource.name, table).markWhere(session, where, at);
    // Otherwise the next read of the resource would treat the marked rows, or differences caused by them, as settled.
    await session.run('DELETE FROM sync.coverage WHERE resource = $1 AND range_from IS NULL', [resource.name]);
    await session.run('DELETE FROM sync.audits WHERE NOT agreed');
  }
  const first = firstReadDay(today);
  const ahead = catalogue.resources.filter(isAhead).map(({ name }) => literal(name));
  const last = `DATE ${literal(today)} + if(list_contains(CAST([${ahead.join(', ')}] AS VARCHAR[]), resource), 1, 0)`;
  const ranges = `range_to > ${last} OR range_from < DATE ${literal(first)}`;
  await session.run(`DELETE FROM sync.coverage WHERE ${ranges} OR closed_at > ${future}`);
  await session.run(`DELETE FROM sync.echoed_days WHERE echoed_at > ${future}`);
  await session.run(`DELETE FROM sync.checkpoints WHERE ${ranges} OR read_at > ${future}`);
  await session.run(
    `DELETE FROM sync.audits WHERE day > DATE ${literal(today)} OR day < DATE ${literal(first)} OR checked_at > ${future}`,
  );
  await resetFuture(session, catalogue, { at, future });
  return marked;
}

interface Suspect {
  readonly resource: Resource;
  readonly table: string;
  /** Condition on live rows. */
  readonly where: string;
}

// Finds the tables with implausible rows. One statement queries all tables, because most runs find none.
async function suspects(session: Session, catalogue: Catalogue, today: string): Promise<Suspect[]> {
  const all = catalogue.resources
    .filter(({ provides, generic }) => provides === undefined && generic !== true)
    .flatMap((resource) =>
      resource.derived.flatMap((table): Suspect[] => {
        const conditions = [...timeConditions(resource, table, today), ...rangeConditions(resource, table, today)];
        return conditions.length === 0 ? [] : [{ resource, table: table.name, where: conditions.join(' OR ') }];
      }),
    );
  const asked = all.map(
    ({ table, where }, index) =>
      `SELECT ${index} AS suspect WHERE EXISTS (SELECT 1 FROM ${quoted(table)} WHERE "_deleted_at" IS NULL AND (${where}))`,
  );
  const rows = await session.all(asked.join(' UNION ALL '));
  return rows.map((row) => all[Number(row['suspect'])] as Suspect);
}

function timeConditions(resource: Resource, table: ResourceTable, today: string): string[] {
  const { earliest, latest } = itemDays(resource, today);
  return timesOf(table).map(({ name }) => {
    const after = `${quoted(name)} >= DATE ${literal(addDays(latest, 1))}`;
    return `${quoted(name)} < DATE ${literal(earliest)} OR ${after}`;
  });
}

function rangeConditions(resource: Resource, table: ResourceTable, today: string): string[] {
  const last = isAhead(resource) ? addDays(today, 1) : today;
  return table.extent.kind === 'range' ? [`range_to > DATE ${literal(last)}`] : [];
}

// Whether the current day of a resource may be a day ahead of UTC.
function isAhead({ zone }: Resource): boolean {
  return zone === 'echoed';
}

// The time of observation is part of a series' key, so future rows are deleted and observed again.
async function resetFuture(
  session: Session,
  catalogue: Catalogue,
  { at, future }: { readonly at: string; readonly future: string },
): Promise<void> {
  const times = [
    ...catalogue.tables.flatMap(({ name, columns }) =>
      columns
        .filter(
          ({ kind, source, name: column }) =>
            kind === 'timestamp' && source.from === 'engine' && column !== OBSERVED_AT,
        )
        .map((column) => ({ table: name, column: column.name })),
    ),
    ...catalogue.histories.flatMap(({ name }) => [VALID_FROM, VALID_TO].map((column) => ({ table: name, column }))),
  ];
  const series = catalogue.tables.filter(({ columns }) => columns.some(({ name }) => name === OBSERVED_AT));
  for (const { name } of series) await session.run(`DELETE FROM ${quoted(name)} WHERE ${OBSERVED_AT} > ${future}`);
  const asked = times.map(
    ({ table, column }, index) =>
      `SELECT ${index} AS found WHERE EXISTS (SELECT 1 FROM ${quoted(table)} WHERE ${quoted(column)} > ${future})`,
  );
  for (const row of await session.all(asked.join(' UNION ALL '))) {
    const { table, column } = times[Number(row['found'])] as (typeof times)[number];
    // Keep the microseconds, which order the versions of a row.
    await session.run(
      `UPDATE ${quoted(table)} SET ${quoted(column)} = TIMESTAMP ${literal(at)} + to_microseconds(epoch_us(${quoted(column)}) % 1000)
       WHERE ${quoted(column)} > ${future}`,
    );
  }
}
