import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useScope } from '../state/scope.tsx';
import { type Table, toRecords } from '../state/table.ts';
import { columnOf, type GivenColumn } from './table-columns.tsx';

export interface RowFactsProps {
  readonly table: Table;
  /** The facts, declared as the columns of a table. Memoise them. */
  readonly columns: readonly GivenColumn[];
}

/** The first row of a query as a list of names with their values. */
export function RowFacts({ table, columns }: RowFactsProps): JSX.Element {
  const scope = useScope();
  const rows = useMemo(() => toRecords(table), [table]);
  const facts = useMemo(() => {
    const known = new Set(Object.keys(rows[0] ?? {}));
    const parts = { rows, known, described: table.columns, shown: [], ranged: null, nameOf: () => '' };
    return columns.map((column) => columnOf(column, parts, scope));
  }, [rows, table, columns, scope]);
  const [row] = rows;
  return (
    <dl class="facts">
      {facts.map(({ id, label, about, cellOf }) => (
        <div key={id} title={about}>
          <dt>{label}</dt>
          <dd dir="auto">{row !== undefined && cellOf(row)}</dd>
        </div>
      ))}
    </dl>
  );
}
