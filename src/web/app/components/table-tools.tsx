import type { JSX } from 'preact';
import { plural } from '../state/amounts.ts';
import { usePaper } from '../state/paper.ts';
import { useScope } from '../state/scope.tsx';
import { type Row, textOf } from '../state/table.ts';
import { Choice } from './filter-bar.tsx';
import type { Column } from './table-columns.tsx';
import { CHANGED, facetOf, NO_COLUMNS, type RowsProps, type View } from './table-view.ts';

/** Tables with more rows have a text filter and facets. */
const SMALL_ROWS = 12;
/** Facets with more values are a list. */
const CHIPS_MAX = 3;

interface TableToolsProps extends Pick<RowsProps, 'caption' | 'rows' | 'facets'> {
  readonly columns: readonly Column[];
  readonly view: View;
  /** Number of the rows that match. */
  readonly found: number;
}

/** The text filter and the facets of a table with many rows. */
export function TableTools({
  caption,
  rows,
  facets = NO_COLUMNS,
  columns,
  view,
  found,
}: TableToolsProps): JSX.Element | null {
  const { format } = useScope();
  if (usePaper() !== null || (rows.length <= SMALL_ROWS && found === rows.length)) return null;
  const changed = rows.filter((row) => columns.some(({ verdictOf }) => verdictOf?.(row) === true)).length;
  return (
    <div class="row table-tools">
      <input
        type="search"
        value={view.find}
        placeholder={`Search ${plural(rows.length, nounOf(columns))}`}
        aria-label={`Filter rows of ${caption}`}
        onInput={(event) => view.set('find', event.currentTarget.value)}
      />
      {facets.map((facet) => {
        const column = columns.find(({ id }) => id === facet);
        return column !== undefined && <Facet key={facet} column={column} rows={rows} view={view} />;
      })}
      <OrderChoice columns={columns} view={view} />
      {changed > 0 && <Chip name={CHANGED} value="true" label="Changed" count={changed} view={view} />}
      <span class="quiet" role="status">
        {found === rows.length
          ? plural(found, 'row')
          : `${format.value(found, 'count')} of ${plural(rows.length, 'row')}`}
      </span>
    </div>
  );
}

// Phones show no heads of columns.
function OrderChoice({ columns, view }: Pick<TableToolsProps, 'columns' | 'view'>): JSX.Element {
  const options = columns.map(({ order, label }) => ({ id: order, label: `By ${label}` }));
  return (
    <div class="order">
      <Choice
        label="Order"
        all="Other order"
        value={options.find(({ id }) => id === view.sort)?.id ?? null}
        options={options}
        onChoose={(sort) => view.set('sort', sort ?? '')}
      />
    </div>
  );
}

interface FacetProps {
  readonly column: Column;
  readonly rows: readonly Row[];
  readonly view: View;
}

function Facet({ column: { id, label, valueOf }, rows, view }: FacetProps): JSX.Element | null {
  const { format } = useScope();
  const counts = new Map<string, number>();
  for (const value of rows.map((row) => textOf(valueOf(row)))) counts.set(value, (counts.get(value) ?? 0) + 1);
  const values = [...counts].filter(([value]) => value !== '').sort(([, a], [, b]) => b - a);
  const name = facetOf(id);
  if (counts.size < 2 && view.get(name) === '') return null;
  if (values.length > CHIPS_MAX) {
    const options = values.map(([value, count]) => ({
      id: value,
      label: `${value} (${format.value(count, 'count')})`,
    }));
    return (
      <Choice
        label={label}
        all={`Any ${label.toLocaleLowerCase()}`}
        value={view.get(name)}
        options={options}
        onChoose={(value) => view.set(name, value ?? '')}
      />
    );
  }
  return (
    <>
      {values.map(([value, count]) => (
        <Chip key={value} name={name} value={value} label={value} count={count} view={view} />
      ))}
    </>
  );
}

interface ChipProps {
  readonly name: string;
  readonly value: string;
  readonly label: string;
  readonly count: number;
  readonly view: View;
}

function Chip({ name, value, label, count, view }: ChipProps): JSX.Element {
  const { format } = useScope();
  const isChosen = view.get(name) === value;
  return (
    <button type="button" class="chip" aria-pressed={isChosen} onClick={() => view.set(name, isChosen ? '' : value)}>
      <span dir="auto">{label}</span> <em>{format.value(count, 'count')}</em>
    </button>
  );
}

interface ChangeSentenceProps {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

function nounOf([name]: readonly Column[]): string {
  return (name?.label ?? 'row').toLocaleLowerCase();
}

/** Says how many rows changed beyond chance, so that their cells need no words. */
export function ChangeSentence({ columns, rows }: ChangeSentenceProps): JSX.Element | null {
  const { format } = useScope();
  const tested = columns.flatMap(({ label, verdictOf }) => {
    const verdicts = verdictOf === null ? [] : rows.map(verdictOf);
    if (verdicts.every((verdict) => verdict === null)) return [];
    return [{ label, count: verdicts.filter((verdict) => verdict === true).length }];
  });
  if (tested.length === 0) return null;
  const all = plural(rows.length, nounOf(columns));
  const changed = tested.filter(({ count }) => count > 0);
  const of = (count: number): string => `${format.value(count, 'count')} of ${all}`;
  const sentence =
    rows.length === 1
      ? `${changed.length === 0 ? 'No change' : 'Changed'} beyond chance.`
      : changed.length === 0
        ? `None of ${all} changed beyond chance.`
        : tested.length === 1
          ? `${of(changed[0]?.count ?? 0)} changed beyond chance.`
          : `Of ${all}, these changed beyond chance: ${changed.map(({ label, count }) => `${label.replace('Δ ', '').toLocaleLowerCase()} ${format.value(count, 'count')}`).join(', ')}.`;
  return <p class="change-sentence">{sentence}</p>;
}
