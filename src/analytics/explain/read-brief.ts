import { addDays } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import { DEFAULT_FAMILY } from '../model/measures.ts';
import { BRIEFED_CHANGES, BRIEFED_METRICS, type ComposedBrief, composeBrief, type MetricChange } from './brief.ts';
import type { ChangeUnits } from './change-units.ts';
import { explainChange } from './explain-change.ts';
import type { ChangeKind } from './history-queries.ts';
import { findOpportunities } from './opportunities.ts';
import { readCounts } from './read-counts.ts';
import { ratioOf } from './sums.ts';
import { testChange } from './tests-of-change.ts';
import { whatChanged } from './what-changed.ts';

/** Reads what happened to a brand in a period, and composes the headline and the findings. */
export async function readBrief(query: Query, units: Omit<ChangeUnits, 'metric'>): Promise<ComposedBrief> {
  const { brandId, from, to, gaps } = units.scope;
  const visibility = await explainChange(query, { ...units, metric: 'visibility' });
  const metrics: MetricChange[] = [];
  if (!gaps.some(({ family }) => family === DEFAULT_FAMILY)) {
    for (const metric of BRIEFED_METRICS) metrics.push(await changeOf(query, { ...units, metric }));
  }
  const kinds = Object.keys(BRIEFED_CHANGES) as ChangeKind[];
  const { changes } = await whatChanged(query, [brandId], Date.parse(from), { kinds, ofBrandsOnly: true });
  const end = `${addDays(to, 1)}T00:00:00.000Z`;
  const opportunities = await findOpportunities(query, brandId, { from, to });
  return composeBrief({ visibility, metrics, changes: changes.filter(({ at }) => at < end), opportunities });
}

async function changeOf(query: Query, units: ChangeUnits): Promise<MetricChange> {
  const { before, after } = (await readCounts(query, units)).total;
  const [was, is] = [ratioOf(before), ratioOf(after)];
  return {
    metric: units.metric,
    before: was,
    after: is,
    nBefore: before.n,
    nAfter: after.n,
    test: testChange(units.metric, { before, after }),
  };
}
