import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { promptColumn } from '../../components/columns.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { Timestamp } from '../../components/parts.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { type Row, textOf, toRecords } from '../../state/table.ts';
import type { Grouping } from './groupings.ts';

/** The prompts that moved between groups, with the times at which a sync saw it. */
export function GroupMoves({ grouping }: { readonly grouping: Grouping }): JSX.Element {
  const { brand, linkTo } = useScope();
  const { noun, groupBy } = grouping;
  const data = useQuery('group_moves', brand && { brand: brand.id, group_by: groupBy });
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const columns = useMemo<readonly ColumnSpec<Row>[]>(
    () => [
      {
        id: 'moved_at',
        label: 'Seen at',
        about: 'When a sync first saw the new groups (UTC).',
        unit: 'time',
        value: (row) => textOf(row['moved_at']),
        cell: (row) => <Timestamp time={textOf(row['moved_at']) || null} />,
      },
      promptColumn(linkTo),
      groupsColumn('left_groups', 'Left'),
      groupsColumn('joined_groups', 'Joined'),
    ],
    [linkTo],
  );
  return (
    <Frame
      title="Prompts that moved"
      about={`Prompts whose ${noun} changed, of any day. A move changes the numbers of both groups, also for earlier days, because the API counts by the current groups.`}
      data={data}
      empty={`No prompt changed its ${noun} since the first sync.`}
    >
      <DataTable
        caption="Prompts that moved"
        items={items}
        columns={columns}
        keyOf={(row) => `${textOf(row['prompt_id'])} ${textOf(row['moved_at'])}`}
        isPlain={items.length <= 12}
      />
    </Frame>
  );
}

function groupsColumn(id: string, label: string): ColumnSpec<Row> {
  const namesOf = (row: Row): string => namesIn(row, id) || 'none';
  return {
    id,
    label,
    isWide: true,
    value: namesOf,
    cell: (row) => (
      <span dir="auto" class="clamped" title={namesOf(row)}>
        {namesOf(row)}
      </span>
    ),
  };
}

function namesIn(row: Row, column: string): string {
  const names = row[column];
  return Array.isArray(names) ? names.map(textOf).join(', ') : '';
}
