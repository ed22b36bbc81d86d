import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { knownOwner } from '../../components/columns.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { EntityDot, OwnerTag, Timestamp } from '../../components/parts.tsx';
import { useQuery } from '../../state/data.tsx';
import { NO_VALUE } from '../../state/format.ts';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, textOf, toRecords } from '../../state/table.ts';

interface Mention {
  readonly key: string;
  readonly competitorId: string | null;
  readonly name: string;
  readonly position: number | null;
  readonly sentiment: string | null;
  readonly isTracked: boolean;
}

/** The brand and the competitors that a response mentions. */
export function ResponseEntities({ id }: { readonly id: string }): JSX.Element {
  const { linkTo, entityColour } = useScope();
  const data = useQuery('response_entities', { id });
  const items = useMemo<readonly Mention[]>(
    () =>
      toRecords(data.table).map((row, index) => ({
        key: String(index),
        competitorId: textOf(row['competitor_id']) || null,
        name: textOf(row['entity']),
        position: numberOf(row['position']),
        sentiment: textOf(row['sentiment']) || null,
        isTracked: row['is_tracked'] === true,
      })),
    [data.table],
  );
  const columns = useMemo<readonly ColumnSpec<Mention>[]>(
    () => [
      { id: 'position', label: 'Position', unit: 'count', value: ({ position }) => position },
      {
        id: 'entity',
        label: 'Brand or competitor',
        value: ({ name }) => name,
        cell: ({ competitorId, name, isTracked }) => (
          <span class="clamped" title={name}>
            {isTracked && <EntityDot colour={entityColour(competitorId)} />}
            {competitorId === null ? (
              <strong>{name}</strong>
            ) : (
              <Link to={linkTo('/responses', { competitor: competitorId })}>{name}</Link>
            )}
            {!isTracked && <span class="quiet"> (no longer tracked)</span>}
          </span>
        ),
        isWide: true,
      },
      { id: 'sentiment', label: 'Sentiment', value: ({ sentiment }) => sentiment },
    ],
    [linkTo, entityColour],
  );
  return (
    <Frame
      title="Mentions"
      about="The brand and the competitors that the response mentions, in order of their positions."
      data={data}
      empty="The response mentions neither the brand nor a competitor."
    >
      <DataTable caption="Mentions" items={items} columns={columns} keyOf={({ key }) => key} isPlain />
    </Frame>
  );
}

interface CitedPage {
  readonly key: string;
  readonly url: string;
  readonly title: string;
  readonly domain: string;
  readonly position: number | null;
  readonly owner: string;
  readonly competitor: string;
  readonly others: number | null;
  readonly engines: number | null;
  readonly lastAt: string | null;
}

/** The pages that a response cites. */
export function ResponseSources({ id }: { readonly id: string }): JSX.Element {
  const data = useQuery('response_sources', { id });
  const items = useMemo<readonly CitedPage[]>(
    () =>
      toRecords(data.table).map((row, index) => {
        const { url, title, domain, owner, competitor } = row;
        return {
          key: String(index),
          url: textOf(url),
          title: textOf(title),
          domain: textOf(domain),
          position: numberOf(row['position']),
          owner: knownOwner(textOf(owner)),
          competitor: textOf(competitor),
          others: numberOf(row['other_responses']),
          engines: numberOf(row['other_engines']),
          lastAt: textOf(row['last_cited_at']) || null,
        };
      }),
    [data.table],
  );
  const columns = usePageColumns();
  return (
    <Frame
      title="Cited pages"
      about="The pages that the response cites, their owners, and how often other responses of the brand cite them."
      data={data}
      empty="The response cites no page."
    >
      <DataTable caption="Cited pages" items={items} columns={columns} keyOf={({ key }) => key} isPlain />
    </Frame>
  );
}

function usePageColumns(): readonly ColumnSpec<CitedPage>[] {
  const { linkTo } = useScope();
  return useMemo<readonly ColumnSpec<CitedPage>[]>(
    () => [
      { id: 'position', label: 'Position', unit: 'count', value: ({ position }) => position },
      {
        id: 'page',
        label: 'Page',
        value: ({ url }) => url,
        cell: (page) => <PageName page={page} />,
        isWide: true,
      },
      {
        id: 'domain',
        label: 'Domain',
        value: ({ domain }) => domain,
        cell: ({ domain }) => (
          <Link class="domain" to={linkTo('/sources', {}, { domain })} title={domain}>
            {domain}
          </Link>
        ),
      },
      {
        id: 'owner',
        label: 'Owner',
        about: 'Owner of the domain: the brand, a competitor or a third party.',
        isOptional: true,
        value: ({ owner }) => owner,
        cell: ({ owner, competitor }) => (
          <>
            {owner === '' ? NO_VALUE : <OwnerTag owner={owner} />}
            {competitor !== '' && (
              <span class="below" dir="auto">
                {competitor}
              </span>
            )}
          </>
        ),
      },
      {
        id: 'others',
        label: 'Cited elsewhere',
        about: 'Other responses of the brand, on all days, that cite the same page.',
        unit: 'count',
        value: ({ others }) => others,
        cell: (page) => <Elsewhere page={page} />,
      },
    ],
    [linkTo],
  );
}

// Upstream's text becomes a link only if it is a web address.
function PageName({ page: { url, title } }: { readonly page: CitedPage }): JSX.Element {
  return (
    <>
      {title !== '' && (
        <span class="clamped" dir="auto" title={title}>
          {title}
        </span>
      )}
      {/^https?:\/\//i.test(url) ? (
        <a class="clamped small-text" href={url} rel="noreferrer noopener" target="_blank" title={url}>
          {url}
        </a>
      ) : (
        <span class="clamped small-text" title={url}>
          {url}
        </span>
      )}
    </>
  );
}

function Elsewhere({ page: { url, others, engines, lastAt } }: { readonly page: CitedPage }): JSX.Element {
  const { format, linkTo } = useScope();
  if (others === 0) return <span class="quiet">nowhere else</span>;
  return (
    <>
      <Link
        to={linkTo(
          '/responses',
          { prompt: null, competitor: null, range: 'all', from: null, to: null },
          { search: url },
        )}
      >
        {format.value(others, 'count')}
      </Link>
      <span class="below">
        {format.value(engines, 'count')} engines, last <Timestamp time={lastAt} />
      </span>
    </>
  );
}
