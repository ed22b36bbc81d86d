import type { JSX } from 'preact';
import { OPPORTUNITY_TITLES, type OpportunityKind } from '../../../../contract/opportunity-kinds.ts';
import { Evidence } from '../../components/evidence.tsx';
import { FilterBar, type FilterName } from '../../components/filter-bar.tsx';
import { EmptyState, ErrorState, PageHead } from '../../components/parts.tsx';
import { useResource } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { type Scope, useScope } from '../../state/scope.tsx';

/** A list item of `/data/opportunities`. */
interface Opportunity {
  readonly rank: number;
  readonly kind: OpportunityKind;
  readonly id: string;
  readonly name: string;
  readonly n: number;
  readonly sentence: string;
  readonly evidence: readonly string[];
}

/** Most items: 50 of each kind. */
const ITEMS_MAX = 200;
/** Opportunities are about all responses of the days. */
const WITHOUT: readonly FilterName[] = ['engine', 'topic', 'tag', 'branded', 'comparison'];

/** What a brand can do to be mentioned more often, the greatest first. */
export default function Opportunities(): JSX.Element {
  const { brand, range } = useScope();
  const isKnown = brand !== null && range !== null;
  const { data, error, isLoading, retry } = useResource<{ readonly opportunities: readonly Opportunity[] }>(
    isKnown ? '/data/opportunities' : null,
    isKnown ? { brand: brand.id, from: range.from, to: range.to, limit: ITEMS_MAX } : {},
  );
  return (
    <>
      <PageHead title="Opportunities">
        <FilterBar without={WITHOUT} />
      </PageHead>
      {error !== null && <ErrorState error={error} retry={retry} />}
      {error === null && data === null && <div class="skeleton" role="status" aria-label="Loading" />}
      {error === null && data !== null && (
        <div aria-busy={isLoading}>
          {data.opportunities.length === 0 && (
            <EmptyState>
              No opportunities in these days: no domain is cited for competitors only, no competitor wins a prompt
              beyond chance.
            </EmptyState>
          )}
          {Object.entries(OPPORTUNITY_TITLES).map(([kind, title]) => (
            <Group key={kind} title={title} items={data.opportunities.filter((one) => one.kind === kind)} />
          ))}
        </div>
      )}
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
      <ol>
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
