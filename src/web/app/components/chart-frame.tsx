import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ChartContext, Drawing } from '../charts/drawing.ts';
import type { LoadedTable } from '../state/data.tsx';
import { usePaper } from '../state/paper.ts';
import { Link, useHasLinks } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';
import { type Table, textOf } from '../state/table.ts';
import { Chart } from './chart.tsx';
import { EmptyState, EntityDot, ErrorState } from './parts.tsx';
import { SqlButton } from './sql-button.tsx';

export interface FrameProps {
  readonly title: string;
  /** One sentence: what is shown, and how it is computed. */
  readonly about?: ComponentChildren;
  /** The data of the block, for its state and its SQL. */
  readonly data: LoadedTable;
  /** The page with the details, as a path with filters. */
  readonly to?: string;
  readonly linkLabel?: string;
  /** Shown if the table has no rows. */
  readonly empty?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** A block of a page with its title, definition, link, SQL and the state of its data. */
export function Frame({ title, about, data, to, linkLabel = 'Details', empty, children }: FrameProps): JSX.Element {
  const { table, error, isLoading, retry } = data;
  const hasLinks = useHasLinks();
  const isEmpty = table !== null && table.rows.length === 0;
  return (
    <section class="panel" aria-label={title} aria-busy={isLoading}>
      <header class="panel-head">
        <h2>{title}</h2>
        <span class="panel-tools">
          <SqlButton title={title} sql={table?.sql ?? null} />
          {to !== undefined && hasLinks && (
            <Link to={to} aria-label={`${linkLabel}: ${title}`}>
              {linkLabel}
            </Link>
          )}
        </span>
        {about !== undefined && <p class="quiet">{about}</p>}
      </header>
      {error !== null && <ErrorState error={error} retry={retry} />}
      {error === null && table === null && <div class="skeleton" role="status" aria-label="Loading" />}
      {error === null && isEmpty && <EmptyState>{empty ?? 'No data in this range. Choose other filters.'}</EmptyState>}
      {error === null && table !== null && !isEmpty && children}
      {error === null && !isEmpty && table?.notCompared && (
        <p class="quiet" role="note" dir="auto">
          {table.notCompared}
        </p>
      )}
    </section>
  );
}

export interface LegendEntry {
  readonly label: string;
  /** Index of the series colour. */
  readonly colour: number;
  readonly to?: string;
}

export interface ChartFrameProps extends Omit<FrameProps, 'children'> {
  readonly draw: (context: ChartContext) => Drawing;
  readonly legend?: readonly LegendEntry[];
  readonly height?: number;
  /** Choices above the chart. */
  readonly tools?: ComponentChildren;
  /** A further chart of the same data. */
  readonly below?: ComponentChildren;
  /** Sentences below the chart. */
  readonly note?: ComponentChildren;
}

/** A block with a chart, its legend, and its values as a table, which screen readers need. */
export function ChartFrame({ draw, legend = [], height, tools, below, note, ...frame }: ChartFrameProps): JSX.Element {
  const { highlighted, ...highlighting } = useHighlight();
  const hasRows = (frame.data.table?.rows.length ?? 0) > 0;
  const about = typeof frame.about === 'string' ? frame.about : '';
  const paper = usePaper();
  if (hasRows) paper?.keep({ title: frame.title, about, legend, draw });
  return (
    <Frame {...frame}>
      {tools}
      {legend.length > 0 && <Legend entries={legend} {...highlighting} />}
      <Chart label={frame.title} draw={draw} highlighted={highlighted} {...(height === undefined ? {} : { height })} />
      {below}
      {note !== undefined && <div class="quiet">{note}</div>}
      {frame.data.table !== null && <ValueTable title={frame.title} table={frame.data.table} />}
    </Frame>
  );
}

interface Highlighting {
  /** Label of the series that a click chose. */
  readonly chosen: string | null;
  readonly choose: (label: string | null) => void;
  /** Highlights a series while the pointer or the focus is on its entry. */
  readonly point: (label: string | null) => void;
}

function useHighlight(): Highlighting & { readonly highlighted: string | null } {
  const [chosen, choose] = useState<string | null>(null);
  const [pointed, point] = useState<string | null>(null);
  return { highlighted: pointed ?? chosen, chosen, choose, point };
}

type LegendProps = Highlighting & { readonly entries: readonly LegendEntry[] };

// The entry of a single series highlights nothing.
function Legend({ entries, chosen, choose, point }: LegendProps): JSX.Element {
  // A report has no scripts, so nothing can be highlighted.
  const isPlain = usePaper() !== null || entries.length === 1;
  const hasLinks = useHasLinks();
  return (
    <ul class="legend">
      {entries.map(({ label, colour, to }) => (
        <li
          key={label}
          onPointerEnter={() => point(label)}
          onPointerLeave={() => point(null)}
          onFocusCapture={() => point(label)}
          onBlurCapture={() => point(null)}
        >
          {isPlain && (to === undefined || !hasLinks) && (
            <>
              <EntityDot colour={colour} />
              <span dir="auto">{label}</span>
            </>
          )}
          {!isPlain && (
            <button
              type="button"
              class="legend-entry"
              aria-pressed={chosen === label}
              title={`Highlight ${label}`}
              onClick={() => choose(chosen === label ? null : label)}
            >
              <EntityDot colour={colour} />
              <span dir="auto" class={to === undefined ? undefined : 'hidden-text'}>
                {label}
              </span>
            </button>
          )}
          {isPlain && to !== undefined && hasLinks && <EntityDot colour={colour} />}
          {to !== undefined && hasLinks && (
            <Link to={to} dir="auto">
              {label}
            </Link>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Rows that are shown; the SQL returns all. */
const ROWS_MAX = 400;

// In a browser, the rows are created when the reader opens the table.
function ValueTable({ title, table }: { readonly title: string; readonly table: Table }): JSX.Element {
  const { format } = useScope();
  const [isOpen, setIsOpen] = useState(usePaper() !== null);
  const shown = (value: unknown): string => (typeof value === 'number' ? format.value(value, 'number') : textOf(value));
  return (
    <details class="values" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        Values<span class="hidden-text"> of {title} as a table</span>
      </summary>
      {isOpen && (
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
      )}
    </details>
  );
}
