import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { measureColumns } from '../../components/measured.tsx';
import { EntityDot } from '../../components/parts.tsx';
import { useMetrics } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { ENTITY_MEASURES } from '../../state/shown-measures.ts';
import { type Row, textOf, toRecords } from '../../state/table.ts';

/** Measures of the brand and of each tracked competitor, with their changes. */
export function EntityTable(): JSX.Element {
  const { params, filters, format } = useScope();
  const metrics = ENTITY_MEASURES.map(({ name }) => name).join();
  const data = useMetrics(params === null ? null : { ...params, metrics, group_by: 'entity' });
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const name = useNameColumn();
  const columns = useMemo<readonly ColumnSpec<Row>[]>(
    () => [
      name,
      ...measureColumns(ENTITY_MEASURES, {
        hasChange: filters.compareTo !== 'none',
        // A rise of a competitor is neither good nor bad by itself.
        isGood: (row, isHigherBetter) => (row['competitor_id'] === null ? isHigherBetter : null),
      }),
    ],
    [name, filters.compareTo, format],
  );
  return (
    <Frame
      title="Brand and competitors"
      about="The sample n is responses, or mentions for position and sentiment. A change is beyond chance if chance rarely explains it, corrected for the number of rows."
      data={data}
    >
      <DataTable
        key={String(filters.compareTo === 'none')}
        caption="Brand and competitors"
        items={items}
        columns={columns}
        keyOf={entityKey}
        sort={{ id: 'visibility', isDescending: true }}
      />
    </Frame>
  );
}

/** Identifies a row of the dimension entity. */
export const entityKey = (row: Row): string => textOf(row['competitor_id']) || 'brand';

/** Returns the column with the name of the entity of a row. */
export function useNameColumn(): ColumnSpec<Row> {
  const { linkTo, entityColour } = useScope();
  return useMemo(
    () => ({
      id: 'entity',
      label: 'Brand',
      value: (row) => textOf(row['entity']),
      cell: (row) => {
        const id = textOf(row['competitor_id']) || null;
        const name = (
          <span dir="auto" class="clamped" title={textOf(row['entity'])}>
            {textOf(row['entity'])}
          </span>
        );
        return (
          <span class="named">
            <EntityDot colour={entityColour(id)} />
            {id === null ? name : <Link to={linkTo('/competitors', { competitor: id })}>{name}</Link>}
          </span>
        );
      },
    }),
    [linkTo, entityColour],
  );
}
