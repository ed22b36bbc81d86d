import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { LoadedTable } from '../state/data.tsx';
import { type Row, toRecords } from '../state/table.ts';
import { TableBlock } from './data-table.tsx';
import type { GivenColumn } from './table-columns.tsx';

export interface BeforeAfterProps {
  readonly title: string;
  readonly about: string;
  /** A request for visibility with a comparison. */
  readonly data: LoadedTable;
  /** The name of a row and the index of its series colour; null leaves it out. Memoise it. */
  readonly nameOf: (row: Row) => { readonly name: string; readonly colour: number } | null;
}

const COLUMNS: readonly GivenColumn[] = [
  { name: 'name', dot: ({ colour }) => Number(colour) },
  { name: 'visibility_before', label: 'Before', unit: 'ratio' },
  { name: 'visibility', label: 'After' },
  { name: 'visibility_change', label: 'Change' },
  { name: 'visibility_n', label: 'n', about: 'Responses after.', unit: 'count' },
];

/** Visibility before and after an event, with samples, interval and test of the difference. */
export function BeforeAfter({ data, nameOf, ...frame }: BeforeAfterProps): JSX.Element {
  const rows = useMemo(
    () =>
      toRecords(data.table).flatMap((row): Row[] => {
        const named = nameOf(row);
        return named === null ? [] : [{ ...row, ...named }];
      }),
    [data.table, nameOf],
  );
  return <TableBlock {...frame} data={data} empty="No responses in these days." rows={rows} columns={COLUMNS} />;
}
