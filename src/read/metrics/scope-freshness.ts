import { addDays, dayOf, RANGE_DAYS_MAX } from '../../contract/time.ts';
import { DEFAULT_FAMILY, FACT_RESOURCES, type FactFamily } from '../../metrics/model/measures.ts';
import type { Scope } from '../../metrics/model/scope-sql.ts';
import { whyNotCompared } from './comparison-gaps.ts';
import type { MetricsSource, TableResult } from './table-result.ts';

/** Returns the last day up to which the responses of all brands were read completely; null if there is none within a year. */
export function completeDay({ replica, catalogue, nowMs }: MetricsSource, brands: readonly string[]): string | null {
  const resource = catalogue.get(FACT_RESOURCES[DEFAULT_FAMILY]);
  const last = addDays(dayOf(nowMs), -1);
  const days = brands.map((id) => {
    const since = replica.brands.get(id)?.since ?? null;
    for (let day = last, steps = 0; steps < RANGE_DAYS_MAX; day = addDays(day, -1), steps++) {
      const { asOf, partial } = replica.coverage.days(resource, id, { from: day, to: day, since }, nowMs);
      if (asOf !== null && !partial) return day;
    }
    return null;
  });
  const known = days.filter((day) => day !== null).sort();
  return known[0] ?? null;
}

/** Returns when the facts of a scope were read, by default the responses, and whether they are complete and can be compared. */
export function freshnessOf(
  source: MetricsSource,
  scope: Scope,
  families: readonly FactFamily[] = [DEFAULT_FAMILY],
): Pick<TableResult, 'asOf' | 'completeTo' | 'partial' | 'from' | 'to' | 'notCompared'> {
  const { replica, catalogue, nowMs } = source;
  const resources = families.map((family) => catalogue.get(FACT_RESOURCES[family]));
  const times: number[] = [];
  let partial = false;
  for (const id of scope.brands) {
    const since = replica.brands.get(id)?.since ?? null;
    for (const resource of resources) {
      partial ||= scope.to >= replica.daysOf(resource.name, id)(nowMs);
      const read = replica.coverage.list(resource, id).asOf;
      if (read !== null) times.push(read);
      const ranges = scope.before === null ? [scope] : [scope, scope.before];
      for (const range of ranges) {
        partial ||= replica.coverage.days(resource, id, { from: range.from, to: range.to, since }, nowMs).partial;
      }
    }
  }
  return {
    asOf: times.length === 0 ? null : new Date(Math.min(...times)).toISOString(),
    completeTo: completeDay(source, scope.brands),
    partial,
    from: scope.from,
    to: scope.to,
    notCompared: whyNotCompared(scope, families),
  };
}
