import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { OuterLink } from '../../components/markdown.tsx';
import { stateColumns } from '../../components/state-history.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

/** All forum threads that syncs stored. */
export function ForumTable(): JSX.Element {
  const { brand } = useScope();
  const data = useQuery('forum_list', brand === null ? null : { brand: brand.id });
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const columns = useMemo<readonly ColumnSpec<Row>[]>(
    () => [
      {
        id: 'title',
        label: 'Thread',
        isWide: true,
        value: ({ title }) => textOf(title),
        cell: ({ title, url }) => <OuterLink url={textOf(url)}>{textOf(title) || textOf(url)}</OuterLink>,
      },
      { id: 'subforum', label: 'Community', value: ({ subforum }) => textOf(subforum) },
      {
        id: 'type',
        label: 'Type',
        about: 'ai: engines cite the thread; outreach: the brand could join it.',
        value: ({ type }) => textOf(type),
      },
      ...stateColumns,
      {
        id: 'citing',
        label: 'Cited by',
        about: 'Stored responses that cite its address.',
        unit: 'count',
        value: ({ citing_responses: count }) => numberOf(count),
      },
      {
        id: 'articles',
        label: 'In articles',
        about: 'Articles with its address as a source.',
        unit: 'count',
        value: ({ citing_articles: count }) => numberOf(count),
      },
      { id: 'upvotes', label: 'Upvotes', unit: 'count', value: ({ upvotes }) => numberOf(upvotes) },
      { id: 'comments', label: 'Comments', unit: 'count', value: ({ comments }) => numberOf(comments) },
      { id: 'cited', label: 'Cited on', unit: 'day', value: ({ cited_at: at }) => textOf(at) || null },
    ],
    [],
  );
  return (
    <div class="full">
      <Frame
        title="Forum threads"
        about="Threads of all days, including threads that the API no longer lists."
        data={data}
        empty="No forum threads yet."
      >
        <DataTable
          caption="Forum threads"
          items={items}
          columns={columns}
          keyOf={({ opportunity_id: id }) => textOf(id)}
          sort={{ id: 'citing', isDescending: true }}
        />
      </Frame>
    </div>
  );
}
