import type { ComponentChildren } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { addressWith, useRoute } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';
import { type Row, type TableColumn, textOf } from '../state/table.ts';
import { idOf } from './block-menu.tsx';
import { type Column, columnOf, type GivenColumn, type Sortable } from './table-columns.tsx';

/** A table and its rows. Memoise the lists. */
export interface RowsProps {
  /** The columns that are shown, at most six; the first is the name of a row. */
  readonly columns: readonly GivenColumn[];
  /** Columns that the reader can choose. */
  readonly hidden?: readonly GivenColumn[];
  /** Column that orders the rows, with `-` in front if the greatest is first. The default is the order of the rows. */
  readonly sort?: string;
  /** Names of the columns with facets. */
  readonly facets?: readonly string[];
  /** Whether it is the main table of its page: the parameters of its view have no prefix. */
  readonly isMain?: boolean;
  /** Whether columns are of one kind, such as engines: phones show all of them instead of two lines a row. */
  readonly isMatrix?: boolean;
  /** Name of the table for screen readers. */
  readonly caption: string;
  readonly rows: readonly Row[];
  /** The columns of the query of the rows. */
  readonly described?: readonly TableColumn[];
  /** Why the rows are not compared. */
  readonly notCompared?: string | null;
  /** Called when the last drawn row is near the end. The rows then have the order of the server. */
  readonly onEnd?: (() => void) | undefined;
  /** Sentence above the table; the default says how many rows changed beyond chance. */
  readonly sentence?: ComponentChildren;
  readonly empty?: ComponentChildren;
}

export const NO_COLUMNS: readonly never[] = [];
/** Column with the marks of readers. Rows with a mark are listed only if its facet is chosen. */
export const MARK = 'mark';
/** Facet of the rows that changed beyond chance. */
export const CHANGED = 'changed';
/** Returns the parameter of a facet. Filters of the page, such as `topic`, have the names of columns. */
export const facetOf = (column: string): string => `only.${column}`;

/** The choices of the reader, which the address of the page holds. */
export interface View {
  readonly sort: string;
  readonly find: string;
  /** Ids of the shown columns; empty for the standard. */
  readonly columns: string;
  readonly get: (name: string) => string;
  readonly set: (name: string, value: string) => void;
}

/** Returns the choices of the reader for a table. */
export function useView({ caption, sort = '', isMain = false }: RowsProps): View {
  // The menu of the block keeps `set` while the address changes.
  const route = useRef(useRoute());
  route.current = useRoute();
  const key = (name: string): string => (isMain ? name : `${idOf(caption)}.${name}`);
  const get = (name: string): string => route.current.search.get(key(name)) ?? '';
  const set = (name: string, value: string): void => {
    const isStandard = name === 'sort' && value === sort;
    const address = addressWith(route.current, { [key(name)]: isStandard ? null : value });
    route.current.navigate(address, { replace: true });
  };
  return { sort: get('sort') || sort, find: get('find'), columns: get('columns'), get, set };
}

export interface Columns {
  readonly all: readonly Column[];
  readonly shown: readonly Column[];
  /** Ids of the columns that are shown by default. */
  readonly standard: string;
}

/** Tables with fewer rows draw no intervals. */
const RANGED_ROWS = 3;

/** Returns the columns of a table. Columns without any value are left out. */
export function useColumns(props: RowsProps, chosen: string): Columns {
  const { columns: given, hidden = NO_COLUMNS, rows, described = NO_COLUMNS, isMatrix = false } = props;
  const { notCompared = null } = props;
  const scope = useScope();
  return useMemo(() => {
    const names = given.map((each) => (typeof each === 'string' ? each : each.name));
    const ids = chosen === '' ? names : chosen.split(',');
    const made: Column[] = [];
    const known = new Set(rows.flatMap((row) => Object.keys(row).filter((key) => row[key] !== null)));
    const ranged = isMatrix || rows.length < RANGED_ROWS ? null : firstRange(given, known);
    const parts = {
      rows,
      known,
      described,
      shown: ids,
      ranged,
      notCompared,
      nameOf: (row: Row) => textOf(made[0]?.valueOf(row)),
    };
    made.push(...[...given, ...hidden].map((each) => columnOf(each, parts, scope)));
    const all = made.filter(({ valueOf }, index) => index === 0 || rows.some((row) => valueOf(row) !== null));
    const shown = all.filter(({ id }) => ids.includes(id));
    const standard = all.filter(({ id }) => names.includes(id));
    return { all, shown: shown.length === 0 ? standard : shown, standard: standard.map(({ id }) => id).join() };
  }, [given, hidden, rows, described, isMatrix, notCompared, chosen, scope]);
}

function firstRange(given: readonly GivenColumn[], known: ReadonlySet<string>): string | null {
  const specs = given.map((each) => (typeof each === 'string' ? { name: each } : each));
  return (
    specs.find(({ name, bounds = name, cell }) => cell === undefined && known.has(`${bounds}_lower`))?.name ?? null
  );
}

/** Returns the rows that match the choices of the reader, in the chosen order. */
export function useRows({ rows, facets = NO_COLUMNS }: RowsProps, { all }: Columns, view: View): readonly Row[] {
  const { sort, find } = view;
  const chosen = facets.map((facet) => view.get(facetOf(facet)));
  const isChanged = view.get(CHANGED) !== '';
  const hidesMarked = facets.includes(MARK) && view.get(facetOf(MARK)) === '';
  return useMemo(() => {
    const wanted = find.trim().toLocaleLowerCase();
    const columnOf = (id: string): Column | undefined => all.find((column) => column.id === id);
    const found = rows.filter(
      (row) =>
        all.some(({ valueOf }) => textOf(valueOf(row)).toLocaleLowerCase().includes(wanted)) &&
        facets.every((facet, index) => !chosen[index] || textOf(columnOf(facet)?.valueOf(row)) === chosen[index]) &&
        (!hidesMarked || (row[MARK] ?? null) === null) &&
        (!isChanged || all.some(({ verdictOf }) => verdictOf?.(row) === true)),
    );
    const column = columnOf(sort.replace(/^-/, ''));
    return column === undefined ? found : inOrder(found, column.valueOf, sort.startsWith('-'));
  }, [rows, all, find, sort, isChanged, hidesMarked, ...chosen]);
}

// Missing values are last in both directions.
function inOrder(rows: readonly Row[], valueOf: (row: Row) => Sortable, isDescending: boolean): Row[] {
  const known = rows.filter((row) => valueOf(row) !== null);
  known.sort((a, b) => (isDescending ? -1 : 1) * byValue(valueOf(a), valueOf(b)));
  return [...known, ...rows.filter((row) => valueOf(row) === null)];
}

function byValue(left: Sortable, right: Sortable): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return textOf(left).localeCompare(textOf(right), undefined, { numeric: true });
}
