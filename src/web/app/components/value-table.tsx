import type { JSX } from 'preact';
import { useScope } from '../state/scope.tsx';
import { type Table, textOf } from '../state/table.ts';

/** Rows that are shown; the SQL returns all. */
const ROWS_MAX = 400;

/** The rows of a table as they are, which screen readers need beside a chart. */
export function ValueTable({ title, table }: { readonly title: string; readonly table: Table }): JSX.Element {
  const { format } = useScope();
  const shown = (value: unknown): string => (typeof value === 'number' ? format.value(value, 'number') : textOf(value));
  return (
    <section class="table-box" tabIndex={0} aria-label={`Values of ${title}`}>
      <table>
        <thead>
          <tr>
            {table.columns.map(({ name, about }) => (
              <th key={name} scope="col" title={about}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.slice(0, ROWS_MAX).map((row, index) => (
            <tr key={index}>
              {row.map((value, column) => (
                <td key={table.columns[column]?.name} dir="auto">
                  {shown(value)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {table.rows.length > ROWS_MAX && (
        <p class="quiet">
          The first {ROWS_MAX} of {format.value(table.rows.length, 'count')} rows.
        </p>
      )}
    </section>
  );
}
