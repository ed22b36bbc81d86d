import type { JSX } from 'preact';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf } from '../../state/table.ts';

const COLUMNS: readonly GivenColumn[] = [
  'competitor',
  {
    name: 'together',
    label: 'Both mentioned',
    to: (row, { linkTo }) => linkTo('/responses', { competitor: textOf(row['competitor_id']) }, { mentioned: 'true' }),
  },
  {
    name: 'share',
    label: 'Share of its mentions',
    about: 'Of the responses that mention the competitor, the share that also mentions the brand.',
    n: 'mentions',
  },
  {
    name: 'ahead_share',
    label: 'Brand first',
    about: 'Of the responses that mention both with positions, the share in which the brand comes first.',
    bounds: 'ahead',
    n: 'placed',
  },
];

/** Responses that mention the brand and a competitor, and who is named first. */
export function CoMentions(): JSX.Element {
  const { params } = useScope();
  return (
    <TableBlock
      title="Mentioned together"
      about="Responses that mention both the brand and a competitor, and how often the brand comes first."
      data={useQuery('co_mentions', params)}
      empty="The brand has no tracked competitors."
      columns={COLUMNS}
      sort="-together"
    />
  );
}
