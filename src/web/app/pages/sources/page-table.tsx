import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { domainColumn, knownOwner, ownerColumn } from '../../components/columns.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { Choice } from '../../components/filter-bar.tsx';
import { measuredColumn } from '../../components/measured.tsx';
import { useQuery, useUpstreamNote } from '../../state/data.tsx';
import { Link, useSearchParam } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';
import { OWNERS } from './domain-table.tsx';

/** Maximum number of pages that are shown. */
const PAGES_MAX = 500;

/** The most cited pages, of all domains or of one. */
export function PageTable({ domain }: { readonly domain?: string }): JSX.Element {
  const { params, format } = useScope();
  const [owner, setOwner] = useSearchParam(
    'owner',
    OWNERS.map(({ id }) => id),
  );
  const data = useQuery(
    'cited_pages',
    params && {
      ...params,
      limit: PAGES_MAX,
      ...(domain === undefined ? { owner: owner === 'all' ? null : owner } : { domain }),
    },
  );
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const hasOwners = owner !== 'all' || items.some((row) => knownOwner(textOf(row['owner'])) !== '');
  const columns = useColumns(domain === undefined);
  const notes = useUpstreamNote('page_title') + useUpstreamNote('citations');
  return (
    <Frame
      title={domain === undefined ? 'Cited pages' : 'Its pages'}
      about={`Pages by citations, at most ${format.value(PAGES_MAX, 'count')}. Share is of all selected responses (n).${notes}`}
      data={data}
    >
      {domain === undefined && hasOwners && <Choice label="Owner" value={owner} options={OWNERS} onChoose={setOwner} />}
      <DataTable
        caption={domain === undefined ? 'Cited pages' : 'Its pages'}
        items={items}
        columns={columns}
        keyOf={(row) => textOf(row['url'])}
        sort={{ id: 'citations', isDescending: true }}
      />
    </Frame>
  );
}

function useColumns(hasDomain: boolean): readonly ColumnSpec<Row>[] {
  const { linkTo } = useScope();
  return useMemo(
    () => [
      pageColumn(linkTo),
      ...(hasDomain ? [domainColumn(linkTo), ownerColumn<Row>()] : []),
      { id: 'citations', label: 'Citations', unit: 'count', value: (row) => numberOf(row['citations']) },
      {
        id: 'before_citations',
        label: 'Before',
        about: 'Citations in the comparison range.',
        unit: 'count',
        value: (row) => numberOf(row['before_citations']),
      },
      { id: 'responses', label: 'Responses', unit: 'count', value: (row) => numberOf(row['responses']) },
      measuredColumn({
        id: 'share',
        label: 'Share',
        about: 'Share of the selected responses (n) that cite the page.',
        n: 'selected',
      }),
      {
        id: 'last_cited_at',
        label: 'Last cited',
        unit: 'time',
        isHidden: true,
        value: (row) => textOf(row['last_cited_at']) || null,
      },
    ],
    [linkTo, hasDomain],
  );
}

/** Returns the column with title and address of a page; the link lists the responses that cite it. */
export function pageColumn(linkTo: ReturnType<typeof useScope>['linkTo']): ColumnSpec<Row> {
  return {
    id: 'page',
    label: 'Page',
    about: 'The link lists the responses that cite the page.',
    isWide: true,
    value: (row) => `${textOf(row['title'])} ${textOf(row['url'])}`,
    cell: (row) => (
      <>
        <Link to={linkTo('/responses', {}, { search: textOf(row['url']) })} dir="auto" class="clamped">
          {textOf(row['title']) || textOf(row['url'])}
        </Link>
        <span class="beside clamped address" dir="ltr" title={textOf(row['url'])}>
          {textOf(row['url'])}
        </span>
      </>
    ),
  };
}
