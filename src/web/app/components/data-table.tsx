import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Params, queryPath } from '../state/api.ts';
import { useTable } from '../state/data.tsx';
import { usePaper } from '../state/paper.ts';
import { type Scope, useScope } from '../state/scope.tsx';
import { numberOf, type Row, toRecords } from '../state/table.ts';
import { useColumnChoice } from './block-menu.tsx';
import { Frame, type FrameProps } from './chart-frame.tsx';
import { EmptyState } from './parts.tsx';
import type { Column } from './table-columns.tsx';
import { ChangeSentence, TableTools } from './table-tools.tsx';
import { MARK, type RowsProps, useColumns, useRows, useView, type View } from './table-view.ts';
import { useVirtualRows } from './use-virtual-rows.ts';

/** A frame, and a table of the rows of its data unless other rows are given. */
export type TableBlockProps = Omit<FrameProps, 'children'> &
  Omit<RowsProps, 'caption' | 'rows' | 'described' | 'notCompared'> & { readonly rows?: readonly Row[] };

/** A block with a table of the rows of a query. */
export function TableBlock({ rows, ...props }: TableBlockProps): JSX.Element {
  const { table } = props.data;
  const all = useMemo(() => toRecords(table), [table]);
  return (
    <Frame {...props}>
      <DataTable
        {...props}
        caption={props.title}
        rows={rows ?? all}
        {...(table === null ? {} : { described: table.columns, notCompared: table.notCompared ?? null })}
      />
    </Frame>
  );
}

/** The declaration of a table: its query, its columns, and its sentences. */
export interface TableSpec extends Omit<TableBlockProps, 'data' | 'rows' | 'to'> {
  /** Name of the declared query; null for a request to the metrics layer. */
  readonly query: string | null;
  /** What the rows belong to: the range and its filters, the brand, or only the request. */
  readonly of?: 'range' | 'brand' | 'request';
  /** Parameters in addition to those of the range or the brand. */
  readonly request?: Params;
  /** The page with the details. */
  readonly page?: (scope: Scope) => string;
}

/** A block with the table of a declaration. */
export function DeclaredTable({ query, of = 'range', request, page, ...block }: TableSpec): JSX.Element {
  const scope = useScope();
  const { params, brand } = scope;
  const given = of === 'request' ? {} : of === 'brand' ? brand && { brand: brand.id } : params;
  const data = useTable(query === null ? '/data/metrics' : queryPath(query), given && { ...given, ...request });
  return <TableBlock {...block} data={data} {...(page === undefined ? {} : { to: page(scope) })} />;
}

const ROW_HEIGHT = 37;
/** Rows below the drawn ones at which more are requested. */
const AHEAD = 10;
/** Rows of a table that is one block of several, until the reader asks for all. */
const FIRST_ROWS = 25;
/** Tables with more columns scroll in their box. */
const SHOWN_MAX = 6;

const NO_PARTS: ReadonlyMap<string, string> = new Map();

/** A table with sorting, facets, a text filter and a choice of columns, which draws only visible rows. */
export function DataTable(props: RowsProps): JSX.Element {
  const { caption, rows: all, sentence, empty, onEnd, isMatrix = false, isMain = false } = props;
  const view = useView(props);
  const columns = useColumns(props, view.columns);
  const { shown } = columns;
  const found = useRows(props, columns, view);
  const [isWhole, setWhole] = useState(isMain || usePaper() !== null);
  const rows = isWhole ? found : found.slice(0, FIRST_ROWS);
  const box = useRef<HTMLElement>(null);
  const virtual = useVirtualRows(box, rows.length, ROW_HEIGHT);
  const last = virtual.items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - AHEAD) onEnd?.();
  }, [last, rows.length, onEnd]);
  const keys = useMemo(() => new Map(all.map((row, index) => [row, index])), [all]);
  const parts = isMatrix ? NO_PARTS : partsOf(shown);
  const toggle = (id: string, isShown: boolean): void => {
    const ids = columns.all.filter((each) => (each.id === id ? isShown : shown.includes(each))).map((each) => each.id);
    view.set('columns', ids.join() === columns.standard ? '' : ids.join());
  };
  const list = { columns: columns.all.map((each) => ({ ...each, isShown: shown.includes(each) })), toggle };
  useColumnChoice(all.length === 0 ? null : list);
  if (all.length === 0) return <EmptyState>{empty ?? 'No rows.'}</EmptyState>;
  return (
    <div class="data-table" data-lines={!isMatrix} data-wide={isMatrix || shown.length > SHOWN_MAX}>
      {onEnd === undefined && <TableTools {...props} columns={columns.all} view={view} found={found.length} />}
      {sentence === undefined ? (
        <ChangeSentence columns={shown} rows={all} />
      ) : (
        <p class="change-sentence">{sentence}</p>
      )}
      <section class="table-box" ref={box} tabIndex={0} aria-label={`Rows of ${caption}`}>
        <table aria-rowcount={onEnd === undefined ? rows.length + 1 : -1}>
          <thead>
            <tr aria-rowindex={1}>
              {shown.map((column) => (
                <HeaderCell key={column.id} column={column} view={view} isFixed={onEnd !== undefined} />
              ))}
            </tr>
          </thead>
          <tbody>
            <Space height={virtual.before} columns={shown.length} />
            {virtual.items.map(({ index }) => {
              const row = rows[index];
              if (row === undefined) return null;
              return (
                <tr key={keys.get(row)} ref={virtual.measure} data-index={index} aria-rowindex={index + 2}>
                  {shown.map((column) => (
                    <Cell key={column.id} column={column} row={row} part={parts.get(column.id)} />
                  ))}
                </tr>
              );
            })}
            <Space height={virtual.after} columns={shown.length} />
          </tbody>
        </table>
        {rows.length === 0 && <p class="state">No row matches.</p>}
      </section>
      {rows.length < found.length && (
        <button type="button" class="show-all" onClick={() => setWhole(true)}>
          Show all {found.length}
        </button>
      )}
    </div>
  );
}

interface HeaderCellProps {
  readonly column: Column;
  readonly view: View;
  /** Whether the reader cannot change the order. */
  readonly isFixed: boolean;
}

function HeaderCell({
  column: { id, label, about, isNumber, order: first },
  view,
  isFixed,
}: HeaderCellProps): JSX.Element {
  const kind = isNumber ? 'number' : undefined;
  if (usePaper() !== null || isFixed) {
    return (
      <th scope="col" title={about} class={kind}>
        {label}
      </th>
    );
  }
  const isDescending = view.sort === `-${id}`;
  const order = isDescending ? 'descending' : view.sort === id ? 'ascending' : 'none';
  const next = order === 'none' ? first : isDescending ? id : `-${id}`;
  return (
    <th scope="col" aria-sort={order} class={kind}>
      <button type="button" class="sort" title={about} onClick={() => view.set('sort', next)}>
        {label}
        <span aria-hidden="true">{order === 'ascending' ? ' ↑' : order === 'descending' ? ' ↓' : ''}</span>
      </button>
    </th>
  );
}

interface CellProps {
  readonly column: Column;
  readonly row: Row;
  readonly part: string | undefined;
}

function Cell({ column: { label, isNumber, valueOf, cellOf }, row, part }: CellProps): JSX.Element {
  return (
    <td
      class={isNumber ? 'number' : undefined}
      dir={isNumber ? undefined : 'auto'}
      data-part={part}
      data-label={part === 'value' ? label : undefined}
      data-value={numberOf(valueOf(row)) ?? undefined}
    >
      {cellOf(row)}
    </td>
  );
}

// The columns that phones show in two lines: the name and a group, and at the end a value and its change.
function partsOf(columns: readonly Column[]): ReadonlyMap<string, string> {
  const [name, ...others] = columns;
  const change = others.find(({ verdictOf }) => verdictOf !== null) ?? others.find(({ id }) => id === MARK);
  const value =
    others.find(({ id, isKey }) => isKey || `${id}_change` === change?.id) ??
    others.find((each) => each.isNumber && each !== change) ??
    others.at(-1);
  const group = name?.hasBelow === true ? undefined : others.find((each) => !each.isNumber && each !== value);
  const parts = { name, value, change, group };
  return new Map(Object.entries(parts).flatMap(([part, column]) => (column === undefined ? [] : [[column.id, part]])));
}

function Space({ height, columns }: { readonly height: number; readonly columns: number }): JSX.Element | null {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true" class="space">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  );
}
