import { toExactJson } from '../../base/json.ts';
import type { ColumnKind } from '../../contract/fields.ts';
import type { TableResult } from '../../read/metrics/table-result.ts';
import type { ListPage } from '../../read/service.ts';

/** Returns the rows of a table as a list, for the formats other than JSON. */
export function toListPage({ columns, rows }: Pick<TableResult, 'columns' | 'rows'>): ListPage {
  const kinds = columns.map(({ type }) => kindOf(type));
  const named = columns.map(({ name }, index) => ({ name, kind: kinds[index] as ColumnKind }));
  const toCell = (value: unknown, index: number): unknown =>
    kinds[index] === 'json' && value !== null && typeof value !== 'string' ? toExactJson(value) : value;
  return {
    get texts() {
      return rows.map((row) =>
        JSON.stringify(Object.fromEntries(columns.map(({ name }, index) => [name, row[index]]))),
      );
    },
    rows: { columns: named, rows: () => rows.map((row) => row.map(toCell)) },
  };
}

// Types without an equal kind, such as TIME and INTERVAL, are written as text.
function kindOf(type: string): ColumnKind {
  if (/[[(]/.test(type) && !/^(DECIMAL|ENUM)\(/.test(type)) return 'json';
  if (/^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/.test(type)) return 'integer';
  if (/^(DOUBLE|FLOAT|DECIMAL)/.test(type)) return 'number';
  if (type.startsWith('TIMESTAMP')) return 'timestamp';
  return kinds[type] ?? 'text';
}

const kinds: Readonly<Record<string, ColumnKind>> = { BOOLEAN: 'boolean', DATE: 'day', JSON: 'json', UUID: 'uuid' };
