import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useScope } from '../state/scope.tsx';
import { type Table, toRecords } from '../state/table.ts';
import { Facts } from './parts.tsx';
import { columnOf, type GivenColumn } from './table-columns.tsx';

export interface RowFactsProps {
  readonly table: Table;
  /** The facts, declared as the columns of a table. Memoise them. */
  readonly columns: readonly GivenColumn[];
}

/** The known values of the first row of a query, with their names. */
export function RowFacts({ table, columns }: RowFactsProps): JSX.Element | null {
  const scope = useScope();
  const rows = useMemo(() => toRecords(table), [table]);
  const facts = useMemo(() => {
    const known = new Set(Object.keys(rows[0] ?? {}));
    const parts = { rows, known, described: table.columns, shown: [], ranged: null, nameOf: () => '' };
    return columns.map((column) => columnOf(column, parts, scope));
  }, [rows, table, columns, scope]);
  const [row] = rows;
  if (row === undefined) return null;
  const known = facts.filter(({ valueOf }) => valueOf(row) !== null);
  return <Facts facts={known.map(({ label, about, cellOf }) => [label, cellOf(row), about])} />;
}
