import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { Choice } from '../../components/filter-bar.tsx';
import { statisticColumn } from '../../components/measured.tsx';
import { useMetrics } from '../../state/data.tsx';
import { useSearchParam } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { statisticOf } from '../../state/series.ts';
import { ENTITY_MEASURES, measureOf } from '../../state/shown-measures.ts';
import { type Row, textOf, toRecords } from '../../state/table.ts';
import { entityKey, useNameColumn } from './entity-table.tsx';

/** An entity, and its rows by engine. */
interface EntityRow {
  readonly row: Row;
  readonly engines: ReadonlyMap<string, Row>;
}

/** One measure of the brand and each competitor by engine. */
export function EngineMatrix(): JSX.Element {
  const { params, engineLabel } = useScope();
  const [chosen, setChosen] = useSearchParam(
    'measure',
    ENTITY_MEASURES.map(({ name }) => name),
  );
  const { name: measure, unit } = measureOf(chosen);
  const data = useMetrics(
    params === null ? null : { ...params, metrics: measure, group_by: 'entity,engine', compare_to: 'none' },
  );
  const items = useMemo(() => rowsOf(toRecords(data.table)), [data.table]);
  const name = useNameColumn();
  const columns = useMemo<readonly ColumnSpec<EntityRow>[]>(() => {
    const slugs = [...new Set(items.flatMap((item) => [...item.engines.keys()]))].sort();
    return [
      {
        id: name.id,
        label: name.label,
        value: ({ row }) => name.value(row),
        cell: ({ row }) => name.cell?.(row),
      },
      ...slugs.map((slug) =>
        statisticColumn<EntityRow>({
          id: `engine ${slug}`,
          label: engineLabel(slug),
          unit,
          statistic: (item) => statisticOf(item.engines.get(slug), measure),
        }),
      ),
    ];
  }, [items, name, engineLabel, unit, measure]);
  return (
    <Frame
      title="By engine"
      about="One measure of the brand and of each competitor; one column per engine."
      data={data}
    >
      <Choice
        label="Measure"
        value={measure}
        options={ENTITY_MEASURES.map(({ name: id, title }) => ({ id, label: title }))}
        onChoose={setChosen}
      />
      <DataTable caption="By engine" items={items} columns={columns} keyOf={({ row }) => entityKey(row)} isPlain />
    </Frame>
  );
}

function rowsOf(records: readonly Row[]): readonly EntityRow[] {
  const found = new Map<string, { row: Row; engines: Map<string, Row> }>();
  for (const row of records) {
    const entity = found.get(entityKey(row)) ?? { row, engines: new Map<string, Row>() };
    entity.engines.set(textOf(row['engine']), row);
    found.set(entityKey(row), entity);
  }
  // The brand is the first row.
  return [...found.values()].sort(
    (a, b) =>
      Number(a.row['competitor_id'] !== null) - Number(b.row['competitor_id'] !== null) ||
      textOf(a.row['entity']).localeCompare(textOf(b.row['entity'])),
  );
}
