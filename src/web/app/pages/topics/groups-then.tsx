import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';
import type { Grouping } from './groupings.ts';

const movedOf = (row: Row): number => (numberOf(row['responses']) ?? 0) - (numberOf(row['responses_then']) ?? 0);

const COLUMNS: readonly GivenColumn[] = [
  {
    name: 'name',
    label: 'Group',
    value: (row) => textOf(row['name']) || 'without a name',
    below: (row) => (row['is_current'] === false ? 'no longer used' : null),
  },
  { name: 'visibility', label: 'Visibility, current groups', about: 'By the current groups.', n: 'responses' },
  {
    name: 'visibility_then',
    label: 'Visibility, groups then',
    about: 'By the group that the prompt of each response had at that time.',
    bounds: 'then',
    n: 'responses_then',
  },
  {
    name: 'moved',
    label: 'Responses moved',
    about: 'Responses by current groups less responses by groups then.',
    unit: 'count',
    value: movedOf,
    cell: (row, { format }) => format.change(movedOf(row), 'count'),
  },
];
const HIDDEN: readonly GivenColumn[] = [
  { name: 'prompts', label: 'Prompts now' },
  { name: 'prompts_then', label: 'Prompts then' },
];

/** Visibility by current groups, compared with visibility by the groups at the time of the responses. */
export function GroupsThen({ grouping }: { readonly grouping: Grouping }): JSX.Element {
  const { params } = useScope();
  const { noun, groupBy } = grouping;
  const data = useQuery('groups_then', params && { ...params, group_by: groupBy });
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  const moved = rows.filter((row) => row['responses'] !== row['responses_then']).length;
  return (
    <TableBlock
      title="Then and now"
      about={`The API counts each response in the current ${noun} of its prompt. This table also counts it in the ${noun} at the time of the response, including prompts and groups that were deleted since.`}
      data={data}
      empty={`No prompt has or had a ${noun}.`}
      columns={COLUMNS}
      hidden={HIDDEN}
      sentence={
        moved === 0
          ? 'Both are equal in this range: no prompt with responses moved since the first sync.'
          : `${moved} of ${rows.length} differ: prompts moved, or were deleted.`
      }
    />
  );
}
