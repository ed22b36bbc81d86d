import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';
import { pageColumn } from './page-table.tsx';

/** The pages of the brand that are cited now, or were in the comparison range. */
export function OwnPages(): JSX.Element {
  const { params, linkTo, format } = useScope();
  const data = useQuery('own_cited_pages', params);
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const columns = useMemo<readonly ColumnSpec<Row>[]>(
    () => [
      pageColumn(linkTo),
      {
        id: 'state',
        label: 'State',
        about:
          'new: cited only in this range; dropped: only in the comparison range; kept: in both; cited: without a comparison.',
        value: (row) => textOf(row['state']),
        cell: (row) => <span class="tag">{textOf(row['state'])}</span>,
      },
      { id: 'citations', label: 'Citations', unit: 'count', value: (row) => numberOf(row['citations']) },
      { id: 'before_citations', label: 'Before', unit: 'count', value: (row) => numberOf(row['before_citations']) },
    ],
    [linkTo],
  );
  const states = ['new', 'kept', 'dropped'].map(
    (state) => `${format.value(items.filter((row) => row['state'] === state).length, 'count')} ${state}`,
  );
  return (
    <Frame
      title="Own pages"
      about={`Pages of the brand’s domains that are cited in this range or in the comparison range: ${states.join(', ')}.`}
      data={data}
      empty="No response cites a page of the brand, or the website of the brand is not known."
    >
      <DataTable caption="Own pages" items={items} columns={columns} keyOf={(row) => textOf(row['url'])} />
    </Frame>
  );
}
