import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { plural } from '../state/amounts.ts';
import type { Unit } from '../state/format.ts';
import { usePaper } from '../state/paper.ts';
import { useRoute } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';
import { numberOf, textOf } from '../state/table.ts';
import { useColumnChoice } from './block-menu.tsx';
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
  /** Whether the change of an item is beyond chance; null if it is not tested. The table counts them. */
  readonly isBeyondChance?: (item: Item) => boolean | null;
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
  const { caption, items, columns, isPlain = false, empty } = props;
  const table = useItems(props);
  const { rows, filter, setFilter, shown, sort } = table;
  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualRows(scroller, rows.length, ROW_HEIGHT);
  useFitting(scroller);
  const { format } = useScope();
  const parts = partsOf(shown);
  useAddress(props, table);
  useColumnChoice(
    isPlain
      ? null
      : {
          columns: columns.map(({ id, label }) => ({ id, label, isShown: shown.some((each) => each.id === id) })),
          toggle: table.toggle,
        },
  );
  return (
    <div class="data-table" data-lines={parts.size > 1}>
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
        </div>
      )}
      <ChangeSentence columns={shown} items={items} />
      <section class="table-box" ref={scroller} tabIndex={0} aria-label={`Rows of ${caption}`}>
        <table aria-rowcount={rows.length + 1}>
          <thead>
            <tr aria-rowindex={1}>
              {shown.map((column) => (
                <HeaderCell key={column.id} column={column} sort={sort} onSort={table.setSort} />
              ))}
            </tr>
          </thead>
          <tbody>
            <Space height={virtual.before} columns={shown.length} />
            {virtual.items.map(({ index }) => {
              const item = rows[index];
              if (item === undefined) return null;
              return (
                <tr key={props.keyOf(item)} ref={virtual.measure} data-index={index} aria-rowindex={index + 2}>
                  {shown.map((column) => (
                    <Cell key={column.id} column={column} item={item} part={parts.get(column.id)} />
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

// The head of a table that is not wider than its box sticks to the window.
function useFitting(box: { readonly current: HTMLElement | null }): void {
  useEffect(() => {
    const element = box.current;
    const table = element?.firstElementChild;
    if (element === null || table == null) return;
    const observer = new ResizeObserver(() =>
      element.classList.toggle('fits', table.scrollWidth <= element.clientWidth),
    );
    observer.observe(element);
    observer.observe(table);
    return () => observer.disconnect();
  }, []);
}

interface ChangeSentenceProps<Item> {
  readonly columns: readonly ColumnSpec<Item>[];
  readonly items: readonly Item[];
}

// How many rows changed beyond chance, so that their cells need no words.
function ChangeSentence<Item>({ columns, items }: ChangeSentenceProps<Item>): JSX.Element | null {
  const { format } = useScope();
  const tested = columns.flatMap(({ label, isBeyondChance }) => {
    const verdicts = isBeyondChance === undefined ? [] : items.map(isBeyondChance);
    if (verdicts.every((verdict) => verdict === null)) return [];
    return [{ label, count: verdicts.filter((verdict) => verdict === true).length }];
  });
  if (tested.length === 0) return null;
  const noun = (columns[0]?.label ?? 'Row').toLocaleLowerCase();
  const all = `${format.value(items.length, 'count')} ${noun}${items.length === 1 ? '' : 's'}`;
  const changed = tested.filter(({ count }) => count > 0);
  const of = (count: number): string => `${format.value(count, 'count')} of ${all}`;
  const sentence =
    changed.length === 0
      ? `None of ${all} changed beyond chance.`
      : tested.length === 1
        ? `${of(changed[0]?.count ?? 0)} changed beyond chance.`
        : `Of ${all}, these changed beyond chance: ${changed.map(({ label, count }) => `${label.replace('Δ ', '').toLocaleLowerCase()} ${format.value(count, 'count')}`).join(', ')}.`;
  return <p class="change-sentence">{sentence}</p>;
}

/** Parameters of the address: column and order, text filter, and the shown columns. */
const SORT = 'sort';
const FIND = 'find';
const COLUMNS = 'columns';

interface Sort {
  readonly id: string;
  readonly isDescending: boolean;
}

/** The rows of a table in their order, and the choices of the reader. */
interface Items<Item> {
  readonly rows: readonly Item[];
  readonly shown: readonly ColumnSpec<Item>[];
  readonly filter: string;
  readonly sort: Sort | undefined;
  readonly setFilter: (filter: string) => void;
  readonly setSort: (sort: Sort) => void;
  readonly toggle: (id: string, isShown: boolean) => void;
}

function useItems<Item extends object>(props: DataTableProps<Item>): Items<Item> {
  const { items, columns, isInAddress = false } = props;
  const { search } = useRoute();
  const given = isInAddress ? search : new URLSearchParams();
  const [filter, setFilter] = useState(() => given.get(FIND) ?? '');
  const [sort, setSort] = useState(() => readSort(given, columns) ?? props.sort);
  const [hidden, setHidden] = useState<readonly string[]>(() => {
    const chosen = given.get(COLUMNS)?.split(',');
    return columns
      .filter(({ id, isHidden }) => (chosen === undefined ? isHidden : !chosen.includes(id)))
      .map(({ id }) => id);
  });
  const rows = useMemo(() => {
    const found = items.filter((item) => columns.some(({ value }) => contains(value(item), filter)));
    const column = columns.find(({ id }) => id === sort?.id);
    return column === undefined ? found : inOrder(found, column.value, sort?.isDescending === true);
  }, [items, columns, filter, sort]);
  const shown = columns.filter(({ id }) => !hidden.includes(id));
  const toggle = (id: string, isShown: boolean): void =>
    setHidden(isShown ? hidden.filter((each) => each !== id) : [...hidden, id]);
  return { rows, shown, filter, sort, setFilter, setSort, toggle };
}

function readSort<Item>(search: URLSearchParams, columns: readonly ColumnSpec<Item>[]): Sort | undefined {
  const text = search.get(SORT) ?? '';
  const id = text.replace(/^-/, '');
  return columns.some((column) => column.id === id) ? { id, isDescending: text.startsWith('-') } : undefined;
}

// Writes the parameters that differ from the defaults.
function useAddress<Item extends object>(
  { columns, sort: standard, isInAddress = false }: DataTableProps<Item>,
  { filter, shown, sort }: Items<Item>,
): void {
  const { path, search, navigate } = useRoute();
  const isStandard = sort?.id === standard?.id && sort?.isDescending === standard?.isDescending;
  const order = sort === undefined || isStandard ? '' : `${sort.isDescending ? '-' : ''}${sort.id}`;
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

// Missing values are last in both directions.
function inOrder<Item>(items: readonly Item[], valueOf: (item: Item) => unknown, isDescending: boolean): Item[] {
  const known = items.filter((item) => valueOf(item) !== null);
  known.sort((a, b) => (isDescending ? -1 : 1) * byValue(valueOf(a), valueOf(b)));
  return [...known, ...items.filter((item) => valueOf(item) === null)];
}

function byValue(left: unknown, right: unknown): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return textOf(left).localeCompare(textOf(right), undefined, { numeric: true });
}

function contains(value: unknown, filter: string): boolean {
  return textOf(value).toLocaleLowerCase().includes(filter.trim().toLocaleLowerCase());
}

interface HeaderCellProps<Item> {
  readonly column: ColumnSpec<Item>;
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort) => void;
}

function HeaderCell<Item>({ column, sort, onSort }: HeaderCellProps<Item>): JSX.Element {
  const isSorted = sort?.id === column.id;
  const order = !isSorted ? 'none' : sort.isDescending ? 'descending' : 'ascending';
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
  const toggle = (): void => onSort({ id: column.id, isDescending: isSorted ? !sort.isDescending : isNumber });
  return (
    <th scope="col" aria-sort={order} class={isNumber ? 'number' : undefined}>
      <button type="button" class="sort" title={column.about} onClick={toggle}>
        {column.label}
        <span aria-hidden="true">{order === 'ascending' ? ' ↑' : order === 'descending' ? ' ↓' : ''}</span>
      </button>
    </th>
  );
}

interface CellProps<Item> {
  readonly column: ColumnSpec<Item>;
  readonly item: Item;
  readonly part: string | undefined;
}

function Cell<Item>({ column, item, part }: CellProps<Item>): JSX.Element {
  const { format } = useScope();
  const { unit = 'text', cell, value, isWide = false } = column;
  const kind = isNumeric(unit) ? 'number' : isWide ? 'wide' : undefined;
  const raw = value(item);
  return (
    <td
      class={kind}
      dir={kind === 'number' ? undefined : 'auto'}
      data-part={part}
      data-value={numberOf(raw) ?? undefined}
    >
      {cell === undefined ? format.value(raw, unit) : cell(item)}
    </td>
  );
}

// The columns that phones show of tables with changes: the name, and the first change with the value before it.
function partsOf<Item>(columns: readonly ColumnSpec<Item>[]): ReadonlyMap<string, string> {
  const change = columns.findIndex(({ isBeyondChance }) => isBeyondChance !== undefined);
  const [name, value] = [columns[0], columns[change - 1]];
  if (name === undefined || value === undefined || change < 2) return new Map();
  return new Map([
    [name.id, 'name'],
    [value.id, 'value'],
    [columns[change]?.id ?? '', 'change'],
  ]);
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
