import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { SqlTable } from '../../../../page-data/sql-data.ts';
import { ErrorState } from '../../../components/parts.tsx';
import type { Loaded } from '../../../state/data.tsx';
import { quoted, tableName } from '../editor/name-completion.ts';

/** Titles of the schemas, in the order of their use. */
const SCHEMAS: readonly (readonly [string, string])[] = [
  ['mart', 'Marts: tables for analysis'],
  ['main', 'Tables of the API'],
  ['sync', 'Syncs: runs, requests, coverage'],
];

export interface TableBrowserProps {
  readonly schema: Loaded<{ readonly tables: readonly SqlTable[] }>;
  /** Inserts a name into the editor. */
  readonly onInsert: (text: string) => void;
}

/** The tables with their columns and comments. A click inserts a name. */
export function TableBrowser({ schema, onInsert }: TableBrowserProps): JSX.Element {
  const [filter, setFilter] = useState('');
  const tables = schema.data?.tables;
  const found = useMemo(() => matching(tables ?? [], filter.trim().toLowerCase()), [tables, filter]);
  if (schema.error !== null) return <ErrorState error={schema.error} retry={schema.retry} />;
  if (tables === undefined) return <div class="skeleton" role="status" aria-label="Loading" />;
  const others = [...new Set(found.map(({ schema: name }) => name))].filter(
    (name) => !SCHEMAS.some(([known]) => known === name),
  );
  return (
    <>
      <input
        type="search"
        value={filter}
        placeholder="Find tables and columns"
        aria-label="Find tables and columns"
        onInput={(event) => setFilter(event.currentTarget.value)}
      />
      {found.length === 0 && <p class="state">No table or column has this text.</p>}
      {[...SCHEMAS, ...others.map((name) => [name, name] as const)].map(([name, label]) => {
        const inSchema = found.filter(({ schema: of }) => of === name);
        if (inSchema.length === 0) return null;
        return (
          <section key={name} aria-label={label}>
            <h2>{label}</h2>
            {inSchema.map((table) => (
              <TableItem key={table.name} table={table} onInsert={onInsert} />
            ))}
          </section>
        );
      })}
    </>
  );
}

interface TableItemProps extends Pick<TableBrowserProps, 'onInsert'> {
  readonly table: SqlTable;
}

// The columns are created when the reader opens the table.
function TableItem({ table, onInsert }: TableItemProps): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const name = tableName(table);
  return (
    <details class="sql-table" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary title={table.about ?? undefined}>{table.name}</summary>
      {isOpen && (
        <>
          {table.about !== null && <p class="quiet">{table.about}</p>}
          <button type="button" class="small" onClick={() => onInsert(name)}>
            Insert {name}
          </button>
          <ul>
            {table.columns.map(({ name: column, type, about }) => (
              <li key={column}>
                <button
                  type="button"
                  class="link"
                  aria-label={`Insert ${column}`}
                  onClick={() => onInsert(quoted(column))}
                >
                  {column}
                </button>{' '}
                <span class="quiet">{shortType(type)}</span>
                {about !== null && about !== '' && <p class="quiet">{about}</p>}
              </li>
            ))}
          </ul>
        </>
      )}
    </details>
  );
}

function matching(tables: readonly SqlTable[], text: string): readonly SqlTable[] {
  if (text === '') return tables;
  const has = (value: string | null): boolean => value?.toLowerCase().includes(text) === true;
  return tables.filter(
    ({ schema, name, about, columns }) =>
      has(`${schema}.${name}`) || has(about) || columns.some((column) => has(column.name)),
  );
}

// Types of nested columns are long.
function shortType(type: string): string {
  return type.length > 30 ? `${type.slice(0, 29)}…` : type;
}
