import type { JSX } from 'preact';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { PAGE } from './page-table.tsx';

const COLUMNS: readonly GivenColumn[] = [
  PAGE,
  {
    name: 'state',
    about:
      'new: cited only in this range; dropped: only in the comparison range; kept: in both; cited: without a comparison.',
  },
  'citations',
  { name: 'before_citations', label: 'Before' },
];
const HIDDEN = ['url'];
const FACETS = ['state'];

/** The pages of the brand that are cited now, or were in the comparison range. */
export function OwnPages(): JSX.Element {
  const { params } = useScope();
  return (
    <TableBlock
      title="Own pages"
      about="Pages of the brand’s domains that are cited in this range or in the comparison range."
      data={useQuery('own_cited_pages', params)}
      empty="No response cites a page of the brand, or the website of the brand is not known."
      columns={COLUMNS}
      hidden={HIDDEN}
      facets={FACETS}
    />
  );
}
