import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import { Choice } from '../../components/filter-bar.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useMetrics } from '../../state/data.tsx';
import { useSearchParam } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { measurementOf } from '../../state/series.ts';
import { ENTITY_MEASURES, measureOf } from '../../state/shown-measures.ts';
import { groupedBy, type Row, textOf, toRecords } from '../../state/table.ts';

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
  const records = useMemo(() => toRecords(data.table), [data.table]);
  const rows = useMemo(() => rowsOf(records, measure), [records, measure]);
  const columns = useMemo<readonly GivenColumn[]>(() => {
    const slugs = [...new Set(records.map((row) => textOf(row['engine'])))].sort();
    return ['entity', ...slugs.map((slug) => ({ name: `engine ${slug}`, label: engineLabel(slug), unit }))];
  }, [records, engineLabel, unit]);
  return (
    <TableBlock
      title="By engine"
      about="One measure of the brand and of each competitor; one column per engine."
      data={data}
      rows={rows}
      columns={columns}
      isMatrix
      tools={
        <Choice
          label="Measure"
          value={measure}
          options={ENTITY_MEASURES.map(({ name: id, title }) => ({ id, label: title }))}
          onChoose={setChosen}
        />
      }
    />
  );
}

// The brand is the first row.
function rowsOf(records: readonly Row[], measure: string): readonly Row[] {
  const rows = [...groupedBy(records, 'competitor_id').values()].map((own): Row => {
    const values = own.map((row): Row => {
      const { value, lower, upper, n } = measurementOf(row, measure);
      const name = `engine ${textOf(row['engine'])}`;
      return { [name]: value, [`${name}_lower`]: lower, [`${name}_upper`]: upper, [`${name}_n`]: n };
    });
    return Object.assign({}, own[0], ...values);
  });
  const order = (row: Row): string => (row['competitor_id'] === null ? '' : ` ${textOf(row['entity'])}`);
  return rows.sort((a, b) => order(a).localeCompare(order(b)));
}
