import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useMetrics, useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { ENTITY_MEASURES } from '../../state/shown-measures.ts';
import { type Row, textOf, toRecords } from '../../state/table.ts';
import type { Grouping } from './groupings.ts';

const OTHERS = ENTITY_MEASURES.slice(1).map(({ name }) => name);
const HIDDEN: readonly GivenColumn[] = ['prompts', 'sentiment', ...OTHERS.map((name) => `${name}_change`)];

/** Measures of each group of prompts, with their changes. */
export function GroupTable({ grouping }: { readonly grouping: Grouping }): JSX.Element {
  const { params } = useScope();
  const { id, label, noun, groupBy, idColumn } = grouping;
  const metrics = ['responses', 'visibility', ...OTHERS].join();
  const data = useMetrics(params && { ...params, metrics, group_by: id });
  const groups = useQuery('groups_then', params && { ...params, group_by: groupBy });
  const rows = useMemo(() => {
    const prompts = new Map(toRecords(groups.table).map((row) => [row['group_id'], row['prompts'] ?? null]));
    return toRecords(data.table).map((row): Row => ({ ...row, prompts: prompts.get(row[idColumn] ?? null) ?? null }));
  }, [data.table, groups.table, idColumn]);
  const columns = useMemo(() => columnsOf(grouping), [grouping]);
  return (
    <TableBlock
      title={label}
      about={`By the current groups of the prompts, as the API counts. ${id === 'tag' ? 'A response counts in every tag of its prompt. ' : ''}Changes are corrected for the number of rows.`}
      data={data}
      empty={`No prompt with responses in this range has a ${noun}.`}
      rows={rows}
      columns={columns}
      hidden={HIDDEN}
      sort="-responses"
      isMain
    />
  );
}

function columnsOf({ id, column, idColumn }: Grouping): readonly GivenColumn[] {
  const name: GivenColumn = {
    name: id,
    label: column,
    value: (row) => textOf(row[id]) || 'without a name',
    to: (row, { linkTo }) => (id === 'funnel_stage' ? null : linkTo('/prompts', { [id]: textOf(row[idColumn]) })),
  };
  return [name, { name: 'responses', unit: 'count' }, 'visibility', 'visibility_change', 'share_of_voice', 'position'];
}
