import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ChartContext, Drawing } from '../charts/drawing.ts';
import type { LoadedTable } from '../state/data.tsx';
import { type PaperChart, usePaper } from '../state/paper.ts';
import { Link, useHasLinks, useRoute } from '../state/router.tsx';
import type { Table } from '../state/table.ts';
import { BlockMenu, ColumnContext, type ColumnList, idOf } from './block-menu.tsx';
import { Chart } from './chart.tsx';
import { EmptyState, EntityDot, ErrorState } from './parts.tsx';
import { ValueTable } from './value-table.tsx';

export interface FrameProps {
  readonly title: string;
  /** A few words beside the title. */
  readonly hint?: string;
  /** What is shown, and how it is computed: in the menu of the block, and below the title in a report. */
  readonly about?: ComponentChildren;
  /** The data of the block, for its state, its SQL and its files. */
  readonly data: LoadedTable;
  /** Further tables of the block, with SQL of their own. */
  readonly more?: readonly (Table | null)[];
  /** The page with the details, as a path with filters: the link of the title, or a link with a label of its own. */
  readonly to?: string;
  readonly linkLabel?: string;
  /** Choices above the contents. */
  readonly tools?: ComponentChildren;
  /** Shown if the table has no rows. */
  readonly empty?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** A block of a page with its title, link, menu and the state of its data. */
export function Frame(props: FrameProps & { readonly chart?: PaperChart }): JSX.Element {
  const { title, hint, about, data, more = [], to, linkLabel, tools, empty, chart, children } = props;
  const { table, error, isLoading, retry } = data;
  const [columns, setColumns] = useState<ColumnList | null>(null);
  const section = useRef<HTMLElement>(null);
  const paper = usePaper();
  const hasLinks = useHasLinks();
  const { hash } = useRoute();
  const isEmpty = table !== null && table.rows.length === 0;
  useScrollTo(section, hash === `#${idOf(title)}`);
  return (
    <section
      ref={section}
      {...(paper === null ? {} : { id: idOf(title) })}
      class="panel"
      aria-label={title}
      aria-busy={isLoading}
    >
      <header class="panel-head">
        <h2>{to === undefined || linkLabel !== undefined ? title : <Link to={to}>{title}</Link>}</h2>
        {hint !== undefined && <p>{hint}</p>}
        {to !== undefined && linkLabel !== undefined && hasLinks && (
          <Link class="panel-link" to={to} aria-label={`${linkLabel}: ${title}`}>
            {linkLabel}
          </Link>
        )}
        <BlockMenu
          title={title}
          about={about}
          tables={[table, ...more]}
          columns={columns}
          {...(chart === undefined ? {} : { chart })}
        />
        {paper !== null && about !== undefined && <p class="quiet about">{about}</p>}
      </header>
      {tools}
      {error !== null && <ErrorState error={error} retry={retry} />}
      {error === null && table === null && <div class="skeleton" role="status" aria-label="Loading" />}
      {error === null && isEmpty && <EmptyState>{empty ?? 'No data in this range. Choose other filters.'}</EmptyState>}
      {error === null && table !== null && !isEmpty && (
        <ColumnContext.Provider value={setColumns}>{children}</ColumnContext.Provider>
      )}
      {paper !== null && !isEmpty && table?.notCompared && (
        <p class="quiet" role="note" dir="auto">
          {table.notCompared}
        </p>
      )}
    </section>
  );
}

// Keeps a block at the top while the blocks above it load, until the reader acts.
function useScrollTo(block: RefObject<HTMLElement | null>, isLinked: boolean): void {
  useEffect(() => {
    if (!isLinked) return;
    const observer = new ResizeObserver(() => block.current?.scrollIntoView());
    observer.observe(document.body);
    const stop = (): void => observer.disconnect();
    for (const event of ['wheel', 'pointerdown', 'keydown']) window.addEventListener(event, stop, { once: true });
    return stop;
  }, [block, isLinked]);
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
  /** A further chart of the same data. */
  readonly below?: ComponentChildren;
  /** Sentences below the chart. */
  readonly note?: ComponentChildren;
}

/** A block with a chart and its legend; its values are a table in the menu, which screen readers need. */
export function ChartFrame({ draw, legend = [], height, below, note, ...frame }: ChartFrameProps): JSX.Element {
  const { highlighted, ...highlighting } = useHighlight();
  const { title, data } = frame;
  const about = typeof frame.about === 'string' ? frame.about : '';
  const paper = usePaper();
  const chart = { title, about, legend, draw };
  if ((data.table?.rows.length ?? 0) > 0) paper?.keep(chart);
  return (
    <Frame {...frame} chart={chart}>
      {legend.length > 0 && <Legend entries={legend} {...highlighting} />}
      <Chart label={title} draw={draw} highlighted={highlighted} {...(height === undefined ? {} : { height })} />
      {below}
      {note !== undefined && <div class="quiet note">{note}</div>}
      {paper !== null && data.table !== null && (
        <details class="values">
          <summary>
            Values<span class="hidden-text"> of {title} as a table</span>
          </summary>
          <ValueTable title={title} table={data.table} />
        </details>
      )}
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
