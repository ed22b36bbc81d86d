import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { measureColumns } from '../../components/measured.tsx';
import { useMetrics, useQuery } from '../../state/data.tsx';
import type { Filters } from '../../state/filters.ts';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { ENTITY_MEASURES } from '../../state/shown-measures.ts';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';
import type { Grouping } from './groupings.ts';

/** Measures of each group of prompts, with their changes. */
export function GroupTable({ grouping }: { readonly grouping: Grouping }): JSX.Element {
  const { params, filters } = useScope();
  const { id, label, noun, groupBy, idColumn } = grouping;
  const metrics = ['responses', ...ENTITY_MEASURES.map(({ name }) => name)].join();
  const data = useMetrics(params && { ...params, metrics, group_by: id });
  const groups = useQuery('groups_then', params && { ...params, group_by: groupBy });
  const items = useMemo(() => {
    const prompts = new Map(toRecords(groups.table).map((row) => [row['group_id'], row['prompts'] ?? null]));
    return toRecords(data.table).map((row): Row => ({ ...row, prompts: prompts.get(row[idColumn] ?? null) ?? null }));
  }, [data.table, groups.table, idColumn]);
  const columns = useColumns(grouping);
  return (
    <Frame
      title={label}
      about={`By the current groups of the prompts, as the API counts. ${id === 'tag' ? 'A response counts in every tag of its prompt. ' : ''}Each value with its 95 % interval and its sample n; changes are corrected for the number of rows.`}
      data={data}
      empty={`No prompt with responses in this range has a ${noun}.`}
    >
      <DataTable
        key={String(filters.compareTo === 'none')}
        caption={label}
        items={items}
        columns={columns}
        keyOf={(row) => textOf(row[idColumn])}
        sort={{ id: 'responses', isDescending: true }}
      />
    </Frame>
  );
}

function useColumns({ id, label, idColumn, labelColumn }: Grouping): readonly ColumnSpec<Row>[] {
  const { linkTo, filters, format } = useScope();
  return useMemo(() => {
    const filterOf = (group: string): Partial<Filters> | null => {
      if (id === 'topic') return { topic: group };
      if (id === 'tag') return { tag: group };
      return id === 'branded' ? { branded: group as Filters['branded'] } : null;
    };
    return [
      {
        id: 'group',
        label: label.replace(/s$/, ''),
        value: (row) => textOf(row[labelColumn]),
        cell: (row) => {
          const filter = filterOf(textOf(row[idColumn]));
          const name = textOf(row[labelColumn]) || 'without a name';
          if (filter === null) return <span dir="auto">{name}</span>;
          return (
            <Link to={linkTo('/prompts', filter)} dir="auto" class="clamped" title={name}>
              {name}
            </Link>
          );
        },
      },
      {
        id: 'prompts',
        label: 'Prompts',
        about: 'Current prompts of the group.',
        unit: 'count',
        value: (row) => numberOf(row['prompts']),
      },
      { id: 'responses', label: 'Responses', unit: 'count', value: (row) => numberOf(row['responses']) },
      ...measureColumns(ENTITY_MEASURES, { hasChange: filters.compareTo !== 'none' }),
    ];
  }, [linkTo, filters.compareTo, format, id, label, idColumn, labelColumn]);
}
