import { type Measure, measures } from '../../metrics/model/measures.ts';
import type { TableResult } from '../../read/metrics/table-result.ts';
import { type LayoutColumn, leastWidth, textTable } from './text-table.ts';

/** Columns and cells of a table. */
interface Part {
  readonly columns: readonly LayoutColumn[];
  /** One list of cells for each row. */
  readonly cells: readonly (readonly string[])[];
}

type Read = (row: readonly unknown[], column: string) => number | null;

/**
 * Returns measures as tables of rounded values, each at most `width` characters wide. Further tables have the measures that do not fit
 * into the first one. A single measure also has its interval, its sample and its earlier value.
 */
export function metricsText(result: Pick<TableResult, 'columns' | 'rows'>, width: number): string {
  const names = result.columns.map(({ name }) => name);
  const read: Read = (row, column) => {
    const value = row[names.indexOf(column)];
    return typeof value === 'number' ? value : null;
  };
  const asked = measures
    .filter(({ name }) => names.includes(name))
    .sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
  const isCompared = (name: string): boolean => result.rows.some((row) => read(row, `${name}_change`) !== null);
  const shownNames = names.filter((name) => !name.endsWith('_change') || isCompared(name.replace(/_change$/, '')));
  const groups = groupsOf(result, asked);
  const [only] = asked.length === 1 ? asked : [];
  const parts = asked.map((measure) => {
    const shown = only === undefined ? shortColumns(measure, shownNames) : longColumns(measure, shownNames);
    return {
      columns: shown.map(({ name }) => ({ name, isNumber: true })),
      cells: result.rows.map((row) =>
        shown.map(({ cell }) =>
          cell(
            (column) => read(row, column),
            (column) => row[names.indexOf(column)],
          ),
        ),
      ),
    };
  });
  return besideEachOther(groups, parts, width)
    .map(({ columns, cells }) => textTable(columns, cells, width))
    .join('\n\n');
}

/** Returns a sentence with the number of rows that changed beyond chance; null without tested changes. */
export function changesSentence({ columns, rows }: Pick<TableResult, 'columns' | 'rows'>): string | null {
  const tested = columns.flatMap(({ name }, index) => (name.endsWith('_significant') ? [index] : []));
  const values = rows.map((row) => tested.map((index) => row[index]).filter((value) => typeof value === 'boolean'));
  const known = values.filter((row) => row.length > 0);
  if (known.length === 0) return null;
  const changed = known.filter((row) => row.includes(true)).length;
  const what = changed === 0 ? 'No row' : changed === known.length ? 'Each row' : `${changed} of ${known.length} rows`;
  return `${what} changed beyond chance. ▲ better, ▼ worse, ≈ within chance.`;
}

// Distributes measures over tables that fit the width; each table repeats the columns of the groups.
function besideEachOther(groups: Part, parts: readonly Part[], width: number): readonly Part[] {
  const tables: Part[] = [];
  let table: Part | null = null;
  for (const part of parts) {
    const wider: Part = joined(table ?? groups, part);
    if (table !== null && leastWidth(wider.columns, wider.cells) > width) {
      tables.push(table);
      table = joined(groups, part);
    } else table = wider;
  }
  return table === null ? tables : [...tables, table];
}

function joined(a: Part, b: Part): Part {
  return {
    columns: [...a.columns, ...b.columns],
    cells: a.cells.map((row, index) => [...row, ...(b.cells[index] ?? [])]),
  };
}

// Leaves out ids and types if the names identify the rows.
function groupsOf({ columns, rows }: Pick<TableResult, 'columns' | 'rows'>, asked: readonly Measure[]): Part {
  const ofMeasures = columns.filter(({ name }) =>
    asked.some((one) => name === one.name || name.startsWith(`${one.name}_`)),
  );
  const all = columns.flatMap((column, index) => (ofMeasures.includes(column) ? [] : [{ ...column, index }]));
  const isName = ({ name, type }: { readonly name: string; readonly type: string }): boolean =>
    type !== 'UUID' && !/_(id|type)$/.test(name);
  const named = all.filter(isName);
  const keys = rows.map((row) => JSON.stringify(named.map(({ index }) => row[index])));
  const shown = new Set(keys).size === rows.length ? named : all;
  return {
    columns: shown.map(({ name }) => ({ name })),
    cells: rows.map((row) => shown.map(({ index }) => textOf(row[index]))),
  };
}

function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '(none)';
  return String(value);
}

interface Shown {
  readonly name: string;
  readonly cell: (number: (column: string) => number | null, raw: (column: string) => unknown) => string;
}

function shortColumns(measure: Measure, names: readonly string[]): readonly Shown[] {
  const { name, label } = measure;
  return [
    {
      name: label.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase()),
      cell: (number) => valueText(measure, number(name)),
    },
    ...(names.includes(`${name}_change`) ? [changeColumn(measure)] : []),
  ];
}

function longColumns(measure: Measure, names: readonly string[]): readonly Shown[] {
  const { name, kind, sampleUnit } = measure;
  const [value, ...change] = shortColumns(measure, names);
  const interval: Shown = {
    name: '95 % interval',
    cell: (number) => {
      const [lower, upper] = [number(`${name}_lower`), number(`${name}_upper`)];
      return lower === null || upper === null
        ? '-'
        : `${valueText(measure, lower).replace(' %', '')} to ${valueText(measure, upper)}`;
    },
  };
  const n: Shown = { name: `${sampleUnit}s`, cell: (number) => counted(number(`${name}_n`) ?? 0) };
  const before: Shown = { name: 'before', cell: (number) => valueText(measure, number(`${name}_before`)) };
  return [
    value as Shown,
    ...(kind === 'count' ? [] : [interval, n]),
    ...(change.length === 0 ? [] : [before, ...change]),
  ];
}

function changeColumn(measure: Measure): Shown {
  const { name, kind, direction } = measure;
  return {
    name: 'change',
    cell: (number, raw) => {
      const [change, before] = [number(`${name}_change`), number(`${name}_before`)];
      if (change === null) return '-';
      if (kind === 'count')
        return before === null || before === 0 ? signed(change, 0) : `${signed((100 * change) / before, 0)} %`;
      const unit = measure.unit === 'ratio' ? ' pp' : '';
      const size = measure.unit === 'ratio' ? 100 * change : change;
      const digits = measure.unit === 'ratio' ? 1 : 2;
      if (raw(`${name}_significant`) !== true) return `≈ ${signed(size, digits)}${unit}`;
      const isUp = direction === 'lower' ? change < 0 : change > 0;
      return `${isUp ? '▲' : '▼'} ${Math.abs(size).toFixed(digits)}${unit}`;
    },
  };
}

function valueText({ unit }: Measure, value: number | null): string {
  if (value === null) return '-';
  switch (unit) {
    case 'ratio':
      return `${(100 * value).toFixed(1)} %`;
    case 'count':
      return counted(value);
    case 'currency':
      return value.toLocaleString('en-GB', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
    default:
      return value.toFixed(2);
  }
}

function counted(value: number): string {
  return value.toLocaleString('en-GB');
}

function signed(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : `${value < 0 ? '-' : '+'}${text}`;
}
