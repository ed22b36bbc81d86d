import type { JSX } from 'preact';
import { TableBlock } from '../../components/data-table.tsx';
import type { ColumnSpec, GivenColumn } from '../../components/table-columns.tsx';
import { useQuery, useUpstreamNote } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf } from '../../state/table.ts';

/** Maximum number of pages that are shown. */
const PAGES_MAX = 2_000;

/** The column with title and address of a page; the link lists the responses that cite it. */
export const PAGE: ColumnSpec = {
  name: 'title',
  label: 'Page',
  about: 'The link lists the responses that cite the page.',
  value: ({ title, url }) => textOf(title) || textOf(url),
  to: ({ url }, { linkTo }) => linkTo('/responses', {}, { search: textOf(url) }),
  below: ({ url }) => <bdi class="clamped address">{textOf(url)}</bdi>,
};

const COLUMNS: readonly GivenColumn[] = [
  PAGE,
  'owner',
  'citations',
  { name: 'before_citations', label: 'Before' },
  'responses',
  { name: 'share', about: 'Share of the selected responses (n) that cite the page.', n: 'selected' },
];
const HIDDEN: readonly GivenColumn[] = ['domain', 'url', { name: 'last_cited_at', label: 'Last cited' }];
const FACETS = ['owner'];

/** The most cited pages, of all domains or of one. */
export function PageTable({ domain = null }: { readonly domain?: string | null }): JSX.Element {
  const { params, format } = useScope();
  const data = useQuery('cited_pages', params && { ...params, limit: PAGES_MAX, domain });
  const notes = useUpstreamNote('page_title') + useUpstreamNote('citations');
  return (
    <TableBlock
      title={domain === null ? 'Cited pages' : 'Its pages'}
      about={`Pages by citations. Share is of all selected responses (n).${notes}`}
      data={data}
      columns={COLUMNS}
      hidden={HIDDEN}
      facets={FACETS}
      sort="-citations"
      isMain={domain === null}
      {...(data.table?.rows.length === PAGES_MAX
        ? { sentence: `The ${format.value(PAGES_MAX, 'count')} most cited pages are listed.` }
        : {})}
    />
  );
}
