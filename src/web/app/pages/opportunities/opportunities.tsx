import type { JSX } from 'preact';
import { OPPORTUNITY_TITLES } from '../../../../analytics/explain/opportunity-kinds.ts';
import type { Opportunity } from '../../../../analytics/explain/opportunity.ts';
import { Evidence } from '../../components/evidence.tsx';
import { FilterBar, type FilterName } from '../../components/filter-bar.tsx';
import { EmptyState, PageHead, WhenLoaded } from '../../components/parts.tsx';
import { useResource } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { type Scope, useScope } from '../../state/scope.tsx';

/** Most items: 50 of each kind. */
const ITEMS_MAX = 200;
/** Opportunities are about all responses of the days. */
const WITHOUT: readonly FilterName[] = ['engine', 'topic', 'tag', 'branded', 'comparison'];

/** What a brand can do to be mentioned more often, the greatest first. */
export default function Opportunities(): JSX.Element {
  const { brand, range } = useScope();
  const isKnown = brand !== null && range !== null;
  const loaded = useResource<{ readonly opportunities: readonly Opportunity[] }>(
    isKnown ? '/data/opportunities' : null,
    isKnown ? { brand: brand.id, from: range.from, to: range.to, limit: ITEMS_MAX } : {},
  );
  return (
    <>
      <PageHead title="Opportunities">
        <FilterBar without={WITHOUT} />
      </PageHead>
      <WhenLoaded of={loaded}>
        {({ opportunities }) => (
          <>
            {opportunities.length === 0 && (
              <EmptyState>
                No opportunities in these days: no domain is cited for competitors only, no competitor wins a prompt
                beyond chance.
              </EmptyState>
            )}
            {Object.entries(OPPORTUNITY_TITLES).map(([kind, title]) => (
              <Group key={kind} title={title} items={opportunities.filter((one) => one.kind === kind)} />
            ))}
          </>
        )}
      </WhenLoaded>
    </>
  );
}

interface GroupProps {
  readonly title: string;
  readonly items: readonly Opportunity[];
}

function Group({ title, items }: GroupProps): JSX.Element | null {
  const scope = useScope();
  if (items.length === 0) return null;
  return (
    <section class="card causes" aria-label={title}>
      <h2>{title}</h2>
      <ol class="rows">
        {items.map((item) => (
          <li key={item.id}>
            <Link to={pageOf(item, scope)} dir="auto">
              {item.name}
            </Link>
            <p class="quiet" dir="auto">
              {item.sentence}
            </p>
            <Evidence ids={item.evidence} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function pageOf({ kind, id }: Opportunity, { linkTo }: Pick<Scope, 'linkTo'>): string {
  switch (kind) {
    case 'source_gap':
      return linkTo('/sources', {}, { domain: id });
    case 'competitor_wins':
      return linkTo(`/prompts/${id}`);
    case 'forum_thread':
      return linkTo('/content', {}, { view: 'forum' });
    case 'page_cited_once':
      return linkTo('/sources', {}, { view: 'pages' });
  }
}
