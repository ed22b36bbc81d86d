import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { OPPORTUNITY_TITLES } from '../../../../metrics/explain/opportunity-kinds.ts';
import type { Opportunity } from '../../../../metrics/explain/opportunity.ts';
import { DataTable } from '../../components/data-table.tsx';
import { Evidence } from '../../components/evidence.tsx';
import type { FilterName } from '../../components/filter-bar.tsx';
import { markColumn } from '../../components/mark-column.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { WhenLoaded } from '../../components/parts.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { textOf } from '../../state/table.ts';
import { opportunityPath, useOpportunities, withoutPrompt } from './what-to-do.tsx';

/** Most items: 50 of each kind. */
const ITEMS_MAX = 200;
/** Opportunities are about all responses of the days. */
const WITHOUT: readonly FilterName[] = ['engine', 'topic', 'tag', 'branded', 'comparison'];

const COLUMNS: readonly GivenColumn[] = [
  {
    name: 'name',
    label: 'Opportunity',
    to: (row, scope) => opportunityPath(row as unknown as Opportunity, scope),
    below: (row) => (
      <>
        {withoutPrompt(row as unknown as Opportunity)}
        <Evidence ids={row['evidence'] as readonly string[]} />
      </>
    ),
  },
  { name: 'kind', value: ({ kind }) => OPPORTUNITY_TITLES[kind as Opportunity['kind']] },
  { name: 'n', label: 'Responses', unit: 'count', about: 'Responses that it concerns.', isKey: true },
  markColumn(({ kind }) => textOf(kind), 'id'),
];
const FACETS = ['mark', 'kind'];

/** What a brand can do to be mentioned more often, the greatest first. */
export default function Opportunities(): JSX.Element {
  const loaded = useOpportunities(ITEMS_MAX);
  const rows = useMemo(() => (loaded.data?.opportunities ?? []).map((one) => ({ ...one })), [loaded.data]);
  return (
    <>
      <PageHead title="Opportunities" filters={{ without: WITHOUT }} />
      <section class="card" aria-label="Opportunities">
        <WhenLoaded of={loaded}>
          {() => (
            <DataTable
              caption="Opportunities"
              columns={COLUMNS}
              rows={rows}
              facets={FACETS}
              isMain
              empty="No opportunities in these days: no domain is cited for competitors only, no competitor wins a prompt beyond chance."
            />
          )}
        </WhenLoaded>
      </section>
    </>
  );
}
