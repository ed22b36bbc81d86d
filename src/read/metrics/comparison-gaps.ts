import { shownDay, shownDays } from '../../contract/time.ts';
import { FACT_NOUNS, FACT_RESOURCES, type FactFamily, FIRST_DAYS } from '../../metrics/model/measures.ts';
import type { ComparisonGap, Scope } from '../../metrics/model/scope-sql.ts';
import type { Query } from '../../warehouse/database.ts';
import type { MetricsSource } from './table-result.ts';

/** Maximum number of brands that are named in a sentence. */
const NAMED_MAX = 3;

/**
 * Returns the facts that cannot be compared between the periods: the earlier period begins before the first stored day, or a day of one of
 * the periods was not read completely. A count of such a period is too low, and its days differ from those of the other period.
 */
export async function comparisonGaps(
  source: MetricsSource,
  query: Query,
  scope: Omit<Scope, 'gaps'>,
): Promise<ComparisonGap[]> {
  const { brands, before, from, to } = scope;
  if (before === null) return [];
  const { replica, catalogue, nowMs } = source;
  const gaps: ComparisonGap[] = [];
  for (const family of Object.keys(FACT_RESOURCES) as FactFamily[]) {
    const resource = catalogue.get(FACT_RESOURCES[family]);
    const firstDays = new Map(
      (await replica.rowCache.through(query)(FIRST_DAYS[family])).map(([id, day]) => [String(id), String(day)]),
    );
    for (const brandId of brands) {
      const name = replica.brands.get(brandId)?.name ?? brandId;
      const first = firstDays.get(brandId) ?? null;
      const add = (reason: string): unknown =>
        gaps.push({ family, brandId, reason: `No comparison with ${shownDays(before.from, before.to)}: ${reason}.` });
      if (first === null || first > before.from) {
        const facts = `${FACT_NOUNS[family]} of ${name}`;
        add(first === null ? `no ${facts} are stored` : `the ${facts} begin on ${shownDay(first)}`);
        continue;
      }
      const today = replica.daysOf(resource.name, brandId)(nowMs);
      const open = [before, { from, to }].find(
        (range) =>
          range.to >= today || replica.coverage.days(resource, brandId, { ...range, since: first }, nowMs).partial,
      );
      if (open === undefined) continue;
      const unread = `the ${FACT_NOUNS[family]} of ${name} were not read on each day of ${shownDays(open.from, open.to)}`;
      add(open.to >= today ? `${shownDay(open.to)} is not over` : unread);
    }
  }
  return gaps;
}

/** Returns why rows have no comparison, in sentences for people; null if all have one. */
export function whyNotCompared({ gaps }: Scope, families: readonly FactFamily[]): string | null {
  const reasons = [...new Set(gaps.filter(({ family }) => families.includes(family)).map(({ reason }) => reason))];
  if (reasons.length === 0) return null;
  const more = reasons.length - NAMED_MAX;
  const rest = more > 0 ? [`The same applies to ${more} more.`] : [];
  return [...reasons.slice(0, NAMED_MAX), ...rest].join(' ');
}
