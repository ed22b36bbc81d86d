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
    label: 'Thread',
    value: ({ title, url }) => textOf(title) || textOf(url),
    url: ({ url }) => textOf(url),
    below: ({ subforum }) => textOf(subforum) || null,
  },
  {
    name: 'type',
    about: 'ai: engines cite the thread; outreach: the brand could join it.',
    isTag: true,
  },
  STATUS,
  { name: 'citing_responses', label: 'Cited by' },
  { name: 'citing_articles', label: 'In articles' },
  'comments',
];
const HIDDEN: readonly GivenColumn[] = [
  HISTORY,
  { name: 'subforum', label: 'Community' },
  'upvotes',
  { name: 'cited_at', label: 'Cited on', unit: 'day' },
];
const FACETS = ['type', 'status'];

/** All forum threads that syncs stored. */
export function ForumTable(): JSX.Element {
  const { brand } = useScope();
  return (
    <TableBlock
      title="Forum threads"
      about="Threads of all days, including threads that the API no longer lists."
      data={useQuery('forum_list', brand === null ? null : { brand: brand.id })}
      empty="No forum threads yet."
      columns={COLUMNS}
      hidden={HIDDEN}
      facets={FACETS}
      sort="-citing_responses"
      isMain
    />
  );
}
