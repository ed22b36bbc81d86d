import type { JSX } from 'preact';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { listOf } from '../../components/version-list.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import type { Grouping } from './groupings.ts';

const COLUMNS: readonly GivenColumn[] = [
  'prompt',
  { name: 'left_groups', label: 'Left', value: (row) => listOf(row['left_groups']).join(', ') || 'none' },
  { name: 'joined_groups', label: 'Joined', value: (row) => listOf(row['joined_groups']).join(', ') || 'none' },
  { name: 'moved_at', label: 'Seen at' },
];

/** The prompts that moved between groups, with the times at which a sync saw it. */
export function GroupMoves({ grouping }: { readonly grouping: Grouping }): JSX.Element {
  const { brand } = useScope();
  const { noun, groupBy } = grouping;
  return (
    <TableBlock
      title="Prompts that moved"
      about={`Prompts whose ${noun} changed, of any day. A move changes the numbers of both groups, also for earlier days, because the API counts by the current groups.`}
      data={useQuery('group_moves', brand && { brand: brand.id, group_by: groupBy })}
      empty={`No prompt changed its ${noun} since the first sync.`}
      columns={COLUMNS}
    />
  );
}
