import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { DataTable } from '../../components/data-table.tsx';
import type { ColumnSpec } from '../../components/table-columns.tsx';
import { type Row, type Table, textOf, type Value } from '../../state/table.ts';
import { rolesOf } from './result-chart.ts';

/** Characters of a text that wraps; longer ones are cut after two lines and complete in the title. */
const TEXT_LENGTH = 60;

/** The rows of a result. Columns are identified by their position, because names may repeat. */
export function ResultTable({ table }: { readonly table: Table }): JSX.Element {
  const rows = useMemo(() => table.rows.map((values): Row => Object.fromEntries(values.entries())), [table]);
  const columns = useMemo(() => {
    const roles = rolesOf(table);
    return table.columns.map(({ name, type }, index): ColumnSpec => ({
      name: String(index),
      label: name,
      about: type,
      cell: (row, { format }) => shownValue(row[index] ?? null, format.exact),
      unit: roles[index] === 'number' ? 'number' : 'text',
    }));
  }, [table]);
  return <DataTable caption="Result" rows={rows} columns={columns} empty="The query returned no rows." isMatrix />;
}

function shownValue(value: Value, exact: (value: number) => string): JSX.Element | string {
  if (value === null) return <span class="quiet null">null</span>;
  if (typeof value === 'number') return <span title={String(value)}>{exact(value)}</span>;
  const text = textOf(value);
  if (text.length <= TEXT_LENGTH) return text;
  return (
    <span class="clamped" title={text.slice(0, 2_000)}>
      {text}
    </span>
  );
}
