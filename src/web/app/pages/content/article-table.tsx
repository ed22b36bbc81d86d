import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { stateColumns } from '../../components/state-history.tsx';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

/** All articles that syncs stored. */
export function ArticleTable(): JSX.Element {
  const { brand, linkTo } = useScope();
  const data = useQuery('article_list', brand === null ? null : { brand: brand.id });
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const columns = useMemo<readonly ColumnSpec<Row>[]>(
    () => [
      {
        id: 'title',
        label: 'Title',
        isWide: true,
        value: ({ title }) => textOf(title),
        cell: ({ article_id: id, title, type }) => (
          <Link to={linkTo('/content', {}, { view: 'articles', article: textOf(id) })} dir="auto" class="clamped">
            {textOf(title) || `Untitled ${textOf(type)}`}
          </Link>
        ),
      },
      ...stateColumns,
      {
        id: 'prompt',
        label: 'Prompt',
        isWide: true,
        value: ({ prompt }) => textOf(prompt),
        cell: ({ prompt_id: id, prompt }) =>
          id === null ? (
            '–'
          ) : (
            <Link to={linkTo(`/prompts/${textOf(id)}`)} dir="auto" class="clamped">
              {textOf(prompt) || textOf(id)}
            </Link>
          ),
      },
      { id: 'created', label: 'Ordered', unit: 'day', value: ({ created_at: at }) => textOf(at) || null },
      { id: 'completed', label: 'Finished', unit: 'day', value: ({ completed_at: at }) => textOf(at) || null },
      { id: 'words', label: 'Words', unit: 'count', value: ({ word_count: count }) => numberOf(count) },
      { id: 'credits', label: 'Credits', unit: 'count', value: ({ credits_charged: count }) => numberOf(count) },
      { id: 'sources', label: 'Sources', unit: 'count', value: ({ sources }) => numberOf(sources) },
      { id: 'type', label: 'Type', isHidden: true, value: ({ type }) => textOf(type) },
      { id: 'quality', label: 'Quality', isHidden: true, value: ({ quality }) => textOf(quality) },
      { id: 'format', label: 'Format', isHidden: true, value: ({ format }) => textOf(format) },
    ],
    [linkTo],
  );
  return (
    <div class="full">
      <Frame
        title="Articles"
        about="Articles of all days, including articles that the API no longer lists."
        data={data}
        empty="No articles yet."
      >
        <DataTable
          caption="Articles"
          items={items}
          columns={columns}
          keyOf={({ article_id: id }) => textOf(id)}
          sort={{ id: 'created', isDescending: true }}
        />
      </Frame>
    </div>
  );
}
