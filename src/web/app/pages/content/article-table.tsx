import type { JSX } from 'preact';
import { TableBlock } from '../../components/data-table.tsx';
import { HISTORY, STATUS } from '../../components/state-history.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf } from '../../state/table.ts';

const COLUMNS: readonly GivenColumn[] = [
  {
    name: 'title',
    value: ({ title, type }) => textOf(title) || `Untitled ${textOf(type)}`,
    to: (row, { linkTo }) => linkTo('/content', {}, { view: 'articles', article: textOf(row['article_id']) }),
  },
  STATUS,
  'prompt',
  { name: 'word_count', label: 'Words' },
  { name: 'created_at', label: 'Ordered', unit: 'day' },
  { name: 'completed_at', label: 'Finished', unit: 'day' },
];
const HIDDEN: readonly GivenColumn[] = [
  HISTORY,
  { name: 'credits_charged', label: 'Credits' },
  'sources',
  'type',
  'quality',
  'format',
];
const FACETS = ['status'];

/** All articles that syncs stored. */
export function ArticleTable(): JSX.Element {
  const { brand } = useScope();
  return (
    <TableBlock
      title="Articles"
      about="Articles of all days, including articles that the API no longer lists."
      data={useQuery('article_list', brand === null ? null : { brand: brand.id })}
      empty="No articles yet."
      columns={COLUMNS}
      hidden={HIDDEN}
      facets={FACETS}
      sort="-created_at"
      isMain
    />
  );
}
