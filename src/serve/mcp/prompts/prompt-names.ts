import { chooseNamed, type Named } from '../../../base/choose-name.ts';
import { SightlineError, toSightlineError } from '../../../base/errors.ts';
import { addDays, dayOf } from '../../../contract/time.ts';
import { runDeclaredQuery } from '../../../query/metrics/run-declared.ts';
import type { MetricsSource, TableResult } from '../../../query/metrics/table-result.ts';
import type { Alert } from './planned-prompt.ts';

/** A day before all data. */
const FIRST_DAY = '2000-01-01';

/** Lists the brands that the caller may see, by name. */
export function brandsOf({ replica }: MetricsSource): Named[] {
  return [...replica.brands].map(([id, { name }]) => ({ id, name })).sort(byName);
}

/** Lists the tracked competitors of a brand, by name. */
export async function competitorsOf(source: MetricsSource, brandId: string): Promise<Named[]> {
  const rows = recordsOf(await runDeclaredQuery(source, 'filters', new URLSearchParams({ brand: brandId })));
  return rows
    .filter(({ filter }) => filter === 'competitor')
    .map(({ id, name }) => ({ id: String(id), name: textOrNull(name) }));
}

/** Lists the alerts of a brand, newest first. Headlines are names, with the day in parentheses if several alerts have the headline. */
export async function alertsOf(source: MetricsSource, brandId: string): Promise<Alert[]> {
  // The last day is in the future, so that alerts of today are listed in every time zone.
  const days = { from: FIRST_DAY, to: addDays(dayOf(source.nowMs), 1) };
  const table = await runDeclaredQuery(source, 'alert_list', new URLSearchParams({ brand: brandId, ...days }));
  const competitors = await competitorsOf(source, brandId);
  const rows = recordsOf(table);
  const counts = new Map<unknown, number>();
  for (const { headline } of rows) counts.set(headline, (counts.get(headline) ?? 0) + 1);
  return rows.map((row) => ({
    id: String(row['alert_id']),
    name: alertName(row, counts.get(row['headline']) === 1),
    day: dayOfAlert(row),
    type: String(row['type']),
    detail: textOrNull(row['detail']),
    domain: textOrNull(row['domain']),
    competitorId: competitors.find(({ name }) => name !== null && name === row['competitor'])?.id ?? null,
  }));
}

function alertName(row: Readonly<Record<string, unknown>>, isUnique: boolean): string | null {
  const headline = textOrNull(row['headline']);
  return headline === null || isUnique ? headline : `${headline} (${dayOfAlert(row)})`;
}

function dayOfAlert(row: Readonly<Record<string, unknown>>): string {
  return String(row['detected_at']).slice(0, 10);
}

/**
 * Finds the item that an argument names by id, name or beginning of a name.
 *
 * @throws SightlineError `invalid_parameter` with the value and what is allowed
 */
export function chooseArgument<T extends Named>(argument: string, given: string, known: readonly T[]): T {
  try {
    return chooseNamed(argument, given, known);
  } catch (thrown) {
    throw new SightlineError('invalid_parameter', toSightlineError(thrown).message, { cause: thrown });
  }
}

function recordsOf({ columns, rows }: TableResult): Record<string, unknown>[] {
  return rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index]])));
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function byName(a: Named, b: Named): number {
  return (a.name ?? a.id) < (b.name ?? b.id) ? -1 : 1;
}
