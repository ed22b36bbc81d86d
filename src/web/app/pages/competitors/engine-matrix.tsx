import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { TableBlock, type TableBlockProps } from '../../components/data-table.tsx';
import { useMeasureChoice } from '../../components/measure-choice.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useMetrics } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { ENTITY_MEASURES, type Measure } from '../../state/shown-measures.ts';
import { groupedBy, numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

/** One measure of the brand and each competitor by engine. */
export function EngineMatrix(): JSX.Element {
  const [measure, tools] = useMeasureChoice(ENTITY_MEASURES);
  return (
    <EngineTable
      title="By engine"
      about="One measure of the brand and of each competitor; one column per engine. Green leads an engine; ▲ and ▼ are changes beyond chance."
      measure={measure}
      tools={tools}
    />
  );
}

export interface EngineTableProps extends Pick<TableBlockProps, 'title' | 'about' | 'to' | 'tools'> {
  readonly measure: Measure;
  /** Number of rows: the brand, and the competitors with the highest values. */
  readonly rowsMax?: number;
}

/** A measure of the brand and its competitors with one column per engine; green leads. */
export function EngineTable({ measure, rowsMax, ...frame }: EngineTableProps): JSX.Element {
  const { params, engineLabel } = useScope();
  const { name, unit, isHigherBetter } = measure;
  const data = useMetrics(params && { ...params, metrics: name, group_by: 'entity,engine' });
  const rows = useMemo(() => rowsOf(toRecords(data.table), measure), [data.table, measure]);
  const columns = useMemo<readonly GivenColumn[]>(() => {
    const slugs = new Set(toRecords(data.table).map((row) => textOf(row['engine'])));
    const most = Math.max(...[...slugs].flatMap((slug) => rows.map((row) => valueIn(row, slug))), 0);
    return [
      'entity',
      ...[...slugs].sort().map((slug) => {
        const values = rows.map((row) => valueIn(row, slug)).filter((value) => value > 0);
        const lead = isHigherBetter ? Math.max(...values) : Math.min(...values);
        const heat = (row: Row) => ({
          isLead: valueIn(row, slug) === lead,
          depth: most === 0 ? 0 : valueIn(row, slug) / most,
        });
        return { name: `engine ${slug}`, label: engineLabel(slug), unit, heat };
      }),
    ];
  }, [data.table, rows, engineLabel, unit, isHigherBetter]);
  const shown = useMemo(() => rows.slice(0, rowsMax), [rows, rowsMax]);
  return <TableBlock {...frame} data={data} rows={shown} columns={columns} isMatrix />;
}

const valueIn = (row: Row, slug: string): number => numberOf(row[`engine ${slug}`]) ?? 0;

// The columns of the measure by engine. The brand first, then the competitors by their mean over the engines.
function rowsOf(records: readonly Row[], { name, isHigherBetter }: Measure): readonly Row[] {
  const rows = [...groupedBy(records, 'competitor_id').values()].map((own): Row => {
    const sum = own.reduce((total, row) => total + (numberOf(row[name]) ?? 0), 0);
    const values = own.flatMap((row) =>
      Object.entries(row)
        .filter(([key]) => key === name || key.startsWith(`${name}_`))
        .map(([key, value]) => [`engine ${textOf(row['engine'])}${key.slice(name.length)}`, value]),
    );
    return { ...own[0], ...Object.fromEntries(values), mean: sum / own.length };
  });
  const rank = (row: Row): number =>
    row['competitor_id'] === null ? Number.NEGATIVE_INFINITY : Number(row['mean']) * (isHigherBetter ? -1 : 1);
  return rows.sort((a, b) => rank(a) - rank(b));
}
