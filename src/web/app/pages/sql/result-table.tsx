import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { useScope } from '../../state/scope.tsx';
import { type Table, textOf, type Value } from '../../state/table.ts';
import { rolesOf } from './result-chart.ts';

interface ResultRow {
  readonly key: string;
  readonly values: readonly Value[];
}

/** Characters of a text that wraps; longer ones are cut after two lines and complete in the title. */
const TEXT_LENGTH = 60;

/** The rows of a result. Columns are identified by their position, because names may repeat. */
export function ResultTable({ table }: { readonly table: Table }): JSX.Element {
  const { format } = useScope();
  const items = useMemo(() => table.rows.map((values, index): ResultRow => ({ key: String(index), values })), [table]);
  const columns = useMemo(() => {
    const roles = rolesOf(table);
    return table.columns.map(({ name, type }, index): ColumnSpec<ResultRow> => ({
      id: String(index),
      label: name,
      about: type,
      value: ({ values }) => plain(values[index] ?? null),
      cell: ({ values }) => shownValue(values[index] ?? null, format.exact),
      ...(roles[index] === 'number' ? { unit: 'number' as const } : {}),
    }));
  }, [table, format]);
  return (
    <DataTable
      key={table.columns.map(({ name }) => name).join('\n')}
      caption="Result"
      items={items}
      columns={columns}
      keyOf={({ key }) => key}
      empty="The query returned no rows."
    />
  );
}

function plain(value: Value): string | number | boolean | null {
  return typeof value === 'object' && value !== null
    ? JSON.stringify(value)
    : (value as string | number | boolean | null);
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
