import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { OPPORTUNITY_TITLES } from '../../../../metrics/explain/opportunity-kinds.ts';
import type { Opportunity } from '../../../../metrics/explain/opportunity.ts';
import { DataTable } from '../../components/data-table.tsx';
import { Evidence } from '../../components/evidence.tsx';
import { FilterBar, type FilterName } from '../../components/filter-bar.tsx';
import { markColumn } from '../../components/mark-column.tsx';
import { PageHead, WhenLoaded } from '../../components/parts.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useResource } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf } from '../../state/table.ts';

/** Most items: 50 of each kind. */
const ITEMS_MAX = 200;
/** Opportunities are about all responses of the days. */
const WITHOUT: readonly FilterName[] = ['engine', 'topic', 'tag', 'branded', 'comparison'];

/** The page of each kind of opportunity, and the parameter that selects the opportunity there. */
const PAGES: Readonly<
  Record<Opportunity['kind'], (id: string) => readonly [path: string, more: Record<string, string>]>
> = {
  source_gap: (id) => ['/sources', { domain: id }],
  competitor_wins: (id) => [`/prompts/${id}`, {}],
  forum_thread: () => ['/content', { view: 'forum' }],
  page_cited_once: () => ['/sources', { view: 'pages' }],
};

const COLUMNS: readonly GivenColumn[] = [
  {
    name: 'name',
    label: 'Opportunity',
    to: ({ kind, id }, { linkTo }) => {
      const [path, more] = PAGES[kind as Opportunity['kind']](textOf(id));
      return linkTo(path, {}, more);
    },
    below: ({ sentence, evidence }) => (
      <>
        {textOf(sentence)}
        <Evidence ids={evidence as readonly string[]} />
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
  const { brand, range } = useScope();
  const isKnown = brand !== null && range !== null;
  const loaded = useResource<{ readonly opportunities: readonly Opportunity[] }>(
    isKnown ? '/data/opportunities' : null,
    isKnown ? { brand: brand.id, from: range.from, to: range.to, limit: ITEMS_MAX } : {},
  );
  const rows = useMemo(() => (loaded.data?.opportunities ?? []).map((one) => ({ ...one })), [loaded.data]);
  return (
    <>
      <PageHead title="Opportunities">
        <FilterBar without={WITHOUT} />
      </PageHead>
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
