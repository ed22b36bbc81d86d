import {
  columnFilteringFeature,
  columnVisibilityFeature,
  createFilteredRowModel,
  createSortedRowModel,
  globalFilteringFeature,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/preact-table';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { plural } from '../state/amounts.ts';
import type { Unit } from '../state/format.ts';
import { usePaper } from '../state/paper.ts';
import { useRoute } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';
import { numberOf, textOf } from '../state/table.ts';
import { useVirtualRows } from './use-virtual-rows.ts';

/** A column of a table. */
export interface ColumnSpec<Item> {
  readonly id: string;
  readonly label: string;
  /** Definition of the column, shown on hover. */
  readonly about?: string;
  /** The value that is sorted, filtered and, without `cell`, shown. */
  readonly value: (item: Item) => string | number | boolean | null;
  readonly unit?: Unit;
  readonly cell?: (item: Item) => ComponentChildren;
  /** Hidden until the reader chooses it. */
  readonly isHidden?: boolean;
  /** Left out if no row has a value. */
  readonly isOptional?: boolean;
  /** Wraps text instead of cutting it off. */
  readonly isWide?: boolean;
}

export interface DataTableProps<Item> {
  /** Name of the table for screen readers, and for the text filter. */
  readonly caption: string;
  /** Memoise both, because new arrays are sorted again. */
  readonly items: readonly Item[];
  readonly columns: readonly ColumnSpec<Item>[];
  readonly keyOf: (item: Item) => string;
  readonly sort?: { readonly id: string; readonly isDescending: boolean };
  /** Shows neither the text filter nor the choice of columns. */
  readonly isPlain?: boolean;
  /** Keeps order, text filter and chosen columns in the address of the page. For one table of a page. */
  readonly isInAddress?: boolean;
  readonly empty?: ComponentChildren;
}

const ROW_HEIGHT = 37;

const features = tableFeatures({
  rowSortingFeature,
  columnFilteringFeature,
  globalFilteringFeature,
  columnVisibilityFeature,
  sortedRowModel: createSortedRowModel(),
  filteredRowModel: createFilteredRowModel(),
});

/** A table with sorting, a text filter and a choice of columns, which draws only visible rows. */
export function DataTable<Item extends object>({ columns: given, ...others }: DataTableProps<Item>): JSX.Element {
  const { items } = others;
  const columns = useMemo(
    () =>
      given.filter(({ isOptional, value }) => isOptional !== true || items.some((item) => (value(item) ?? '') !== '')),
    [given, items],
  );
  return <RowTable {...others} columns={columns} />;
}

function RowTable<Item extends object>(props: DataTableProps<Item>): JSX.Element {
  const { caption, items, columns, isPlain = false, isInAddress = false, empty } = props;
  const { search } = useRoute();
  const [filter, setFilter] = useState(() => (isInAddress && search.get(FIND)) || '');
  const table = useItems(props, filter);
  const scroller = useRef<HTMLElement>(null);
  const rows = table.getRowModel().rows;
  const virtual = useVirtualRows(scroller, rows.length, ROW_HEIGHT);
  const shown = columns.filter(({ id }) => table.getColumn(id)?.getIsVisible() === true);
  const { format } = useScope();
  useAddress(props, filter, shown, table);
  return (
    <div class="data-table">
      {!isPlain && (
        <div class="row table-tools">
          <input
            type="search"
            value={filter}
            placeholder="Filter rows"
            aria-label={`Filter rows of ${caption}`}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
          <span class="quiet" role="status">
            {rows.length === items.length
              ? plural(rows.length, 'row')
              : `${format.value(rows.length, 'count')} of ${plural(items.length, 'row')}`}
          </span>
          <ColumnChoice caption={caption} columns={columns} table={table} />
        </div>
      )}
      <section
        class={isPlain ? 'table-box plain' : 'table-box'}
        ref={scroller}
        tabIndex={0}
        aria-label={`Rows of ${caption}`}
      >
        <table aria-rowcount={rows.length + 1}>
          <thead>
            <tr aria-rowindex={1}>
              {shown.map((column) => (
                <HeaderCell key={column.id} column={column} sorting={table.getColumn(column.id)} />
              ))}
            </tr>
          </thead>
          <tbody>
            <Space height={virtual.before} columns={shown.length} />
            {virtual.items.map(({ index }) => {
              const item = rows[index]?.original;
              if (item === undefined) return null;
              return (
                <tr key={props.keyOf(item)} ref={virtual.measure} data-index={index} aria-rowindex={index + 2}>
                  {shown.map((column) => (
                    <Cell key={column.id} column={column} item={item} />
                  ))}
                </tr>
              );
            })}
            <Space height={virtual.after} columns={shown.length} />
          </tbody>
        </table>
        {rows.length === 0 && (
          <p class="state">{filter === '' ? (empty ?? 'No rows.') : 'No row matches the filter.'}</p>
        )}
      </section>
    </div>
  );
}

interface ColumnChoiceProps<Item> {
  readonly caption: string;
  readonly columns: readonly ColumnSpec<Item>[];
  readonly table: {
    getColumn(id: string): { getIsVisible(): boolean; toggleVisibility(isVisible: boolean): void } | undefined;
  };
}

function ColumnChoice<Item>({ caption, columns, table }: ColumnChoiceProps<Item>): JSX.Element {
  return (
    <details class="menu">
      <summary>Columns</summary>
      <fieldset>
        <legend class="hidden-text">Columns of {caption}</legend>
        {columns.map(({ id, label }) => (
          <label key={id}>
            <input
              type="checkbox"
              checked={table.getColumn(id)?.getIsVisible() === true}
              onChange={(event) => table.getColumn(id)?.toggleVisibility(event.currentTarget.checked)}
            />
            {label}
          </label>
        ))}
      </fieldset>
    </details>
  );
}

/** Parameters of the address: column and order, text filter, and the shown columns. */
const SORT = 'sort';
const FIND = 'find';
const COLUMNS = 'columns';

function useItems<Item extends object>(props: DataTableProps<Item>, filter: string) {
  const { items, columns } = props;
  const { search } = useRoute();
  const definitions = useMemo(
    () =>
      columns.map(({ id, value }) => ({
        id,
        // Missing values are last in both directions.
        accessorFn: (item: Item) => value(item) ?? undefined,
        sortUndefined: 'last' as const,
        sortDescFirst: false,
        sortFn: byValue,
      })),
    [columns],
  );
  const [initialState] = useState(() => {
    const given = props.isInAddress === true ? search : new URLSearchParams();
    const sort = readSort(given, columns) ?? props.sort;
    const chosen = given.get(COLUMNS)?.split(',');
    const hidden = columns.filter(({ id, isHidden }) => (chosen === undefined ? isHidden : !chosen.includes(id)));
    return {
      sorting: sort === undefined ? [] : [{ id: sort.id, desc: sort.isDescending }],
      columnVisibility: Object.fromEntries(hidden.map(({ id }) => [id, false])),
    };
  });
  return useTable({
    features,
    data: items as Item[],
    columns: definitions,
    initialState,
    state: { globalFilter: filter },
    globalFilterFn: contains,
    getColumnCanGlobalFilter: () => true,
  });
}

function readSort<Item>(search: URLSearchParams, columns: readonly ColumnSpec<Item>[]): DataTableProps<object>['sort'] {
  const text = search.get(SORT) ?? '';
  const id = text.replace(/^-/, '');
  return columns.some((column) => column.id === id) ? { id, isDescending: text.startsWith('-') } : undefined;
}

interface Sorted {
  getColumn(id: string): Sorting | undefined;
}

// Writes the parameters that differ from the defaults.
function useAddress<Item extends object>(
  { columns, sort, isInAddress = false }: DataTableProps<Item>,
  filter: string,
  shown: readonly ColumnSpec<Item>[],
  table: Sorted,
): void {
  const { path, search, navigate } = useRoute();
  const sorted = columns.find(({ id }) => table.getColumn(id)?.getIsSorted() !== false);
  const isDescending = sorted !== undefined && table.getColumn(sorted.id)?.getIsSorted() === 'desc';
  const isStandard = sorted?.id === sort?.id && isDescending === (sort?.isDescending ?? false);
  const order = sorted === undefined || isStandard ? '' : `${isDescending ? '-' : ''}${sorted.id}`;
  const names = (list: readonly ColumnSpec<Item>[]): string => list.map(({ id }) => id).join();
  const chosen = names(shown) === names(columns.filter(({ isHidden }) => isHidden !== true)) ? '' : names(shown);
  useEffect(() => {
    if (!isInAddress) return;
    const next = new URLSearchParams(search);
    for (const [name, value] of [
      [SORT, order],
      [FIND, filter],
      [COLUMNS, chosen],
    ] as const) {
      if (value === '') next.delete(name);
      else next.set(name, value);
    }
    if (next.toString() !== search.toString()) navigate(`${path}?${next}`, { replace: true });
  }, [isInAddress, order, filter, chosen]);
}

interface ValueRow {
  getValue(id: string): unknown;
}

function byValue(a: ValueRow, b: ValueRow, id: string): number {
  const left = a.getValue(id);
  const right = b.getValue(id);
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return textOf(left).localeCompare(textOf(right), undefined, { numeric: true });
}

function contains(row: ValueRow, id: string, filter: string): boolean {
  return textOf(row.getValue(id)).toLocaleLowerCase().includes(filter.trim().toLocaleLowerCase());
}

interface Sorting {
  getIsSorted(): false | 'asc' | 'desc';
  toggleSorting(isDescending?: boolean): void;
}

interface HeaderCellProps<Item> {
  readonly column: ColumnSpec<Item>;
  readonly sorting: Sorting | undefined;
}

function HeaderCell<Item>({ column, sorting }: HeaderCellProps<Item>): JSX.Element {
  const sorted = sorting?.getIsSorted() ?? false;
  const order = sorted === 'asc' ? 'ascending' : sorted === 'desc' ? 'descending' : 'none';
  const isNumber = isNumeric(column.unit);
  // Numbers are sorted from the largest first.
  const paper = usePaper();
  if (paper !== null) {
    return (
      <th scope="col" title={column.about} class={isNumber ? 'number' : undefined}>
        {column.label}
      </th>
    );
  }
  const toggle = (): void => sorting?.toggleSorting(sorted === false ? isNumber : sorted === 'asc');
  return (
    <th scope="col" aria-sort={order} class={isNumber ? 'number' : undefined}>
      <button type="button" class="sort" title={column.about} onClick={toggle}>
        {column.label}
        <span aria-hidden="true">{sorted === 'asc' ? ' ↑' : sorted === 'desc' ? ' ↓' : ''}</span>
      </button>
    </th>
  );
}

function Cell<Item>({ column, item }: { readonly column: ColumnSpec<Item>; readonly item: Item }): JSX.Element {
  const { format } = useScope();
  const { unit = 'text', cell, value, isWide = false } = column;
  const kind = isNumeric(unit) ? 'number' : isWide ? 'wide' : undefined;
  const raw = value(item);
  return (
    <td class={kind} dir={kind === 'number' ? undefined : 'auto'} data-value={numberOf(raw) ?? undefined}>
      {cell === undefined ? format.value(raw, unit) : cell(item)}
    </td>
  );
}

function isNumeric(unit: Unit = 'text'): boolean {
  return unit !== 'text' && unit !== 'day' && unit !== 'time';
}

function Space({ height, columns }: { readonly height: number; readonly columns: number }): JSX.Element | null {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true" class="space">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  );
}
