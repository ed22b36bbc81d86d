import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { measuredColumn } from '../../components/measured.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';
import type { Grouping } from './groupings.ts';

/** Visibility by current groups, compared with visibility by the groups at the time of the responses. */
export function GroupsThen({ grouping }: { readonly grouping: Grouping }): JSX.Element {
  const { params } = useScope();
  const { noun, groupBy, label } = grouping;
  const data = useQuery('groups_then', params && { ...params, group_by: groupBy });
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const moved = items.filter((row) => row['responses'] !== row['responses_then']).length;
  const columns = useColumns(label);
  return (
    <Frame
      title="Then and now"
      about={`The API counts each response in the current ${noun} of its prompt. This table also counts it in the ${noun} at the time of the response, including prompts and groups that were deleted since.`}
      data={data}
      empty={`No prompt has or had a ${noun}.`}
    >
      <p class="quiet">
        {moved === 0
          ? 'Both are equal in this range: no prompt with responses moved since the first sync.'
          : `${moved} of ${items.length} differ: prompts moved, or were deleted.`}
      </p>
      <DataTable
        caption="Then and now"
        items={items}
        columns={columns}
        keyOf={(row) => textOf(row['group_id'])}
        isPlain={items.length <= 12}
      />
    </Frame>
  );
}

function useColumns(label: string): readonly ColumnSpec<Row>[] {
  const { format } = useScope();
  return useMemo(() => {
    const prompts = (id: string, name: string, about: string): ColumnSpec<Row> => ({
      id,
      label: name,
      about,
      unit: 'count',
      value: (row) => numberOf(row[id]),
    });
    return [
      {
        id: 'group',
        label: label.replace(/s$/, ''),
        value: (row) => textOf(row['name']),
        cell: (row) => (
          <>
            <span dir="auto" class="clamped" title={textOf(row['name'])}>
              {textOf(row['name']) || 'without a name'}
            </span>
            {row['is_current'] === false && <span class="tag">no longer used</span>}
          </>
        ),
      },
      prompts('prompts', 'Prompts now', 'Current prompts of the group.'),
      measuredColumn({
        id: 'visibility',
        label: 'Visibility, current groups',
        about: 'Responses by the current group of their prompt.',
        n: 'responses',
      }),
      prompts('prompts_then', 'Prompts then', 'Prompts with responses in the range while they were in the group.'),
      measuredColumn({
        id: 'visibility_then',
        label: 'Visibility, groups then',
        about: 'Responses by the group that their prompt had at their time.',
        bounds: 'then',
        n: 'responses_then',
      }),
      {
        id: 'moved',
        label: 'Responses moved',
        about: 'Responses by current groups less responses by groups then.',
        unit: 'count',
        value: (row) => (numberOf(row['responses']) ?? 0) - (numberOf(row['responses_then']) ?? 0),
        cell: (row) =>
          format.change((numberOf(row['responses']) ?? 0) - (numberOf(row['responses_then']) ?? 0), 'count'),
      },
    ];
  }, [format, label]);
}
