import type { JSX } from 'preact';
import { useScope } from '../state/scope.tsx';
import { type Table, textOf } from '../state/table.ts';
import { PlainTable } from './marks.tsx';

/** Rows that are shown; the SQL returns all. */
const ROWS_MAX = 400;

/** The rows of a table as they are, which screen readers need beside a chart. */
export function ValueTable({ title, table }: { readonly title: string; readonly table: Table }): JSX.Element {
  const { format } = useScope();
  const shown = (value: unknown): string => (typeof value === 'number' ? format.value(value, 'number') : textOf(value));
  return (
    <>
      <PlainTable
        caption={`Values of ${title}`}
        columns={table.columns.map(({ name }) => name)}
        about={table.columns.map(({ about }) => about)}
        rows={table.rows.slice(0, ROWS_MAX).map((row) => row.map(shown))}
      />
      {table.rows.length > ROWS_MAX && (
        <p class="quiet">
          The first {ROWS_MAX} of {format.value(table.rows.length, 'count')} rows.
        </p>
      )}
    </>
  );
}
