import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { LoadedTable } from '../state/data.tsx';
import type { Unit } from '../state/format.ts';
import { useScope } from '../state/scope.tsx';
import { type Change, changeOf } from '../state/series.ts';
import { numberOf, type Row, textOf, toRecords } from '../state/table.ts';
import { Frame } from './chart-frame.tsx';
import { type ColumnSpec, DataTable } from './data-table.tsx';
import { Mark } from './measured.tsx';
import { EntityDot } from './parts.tsx';

interface Compared {
  readonly key: string;
  readonly name: string;
  readonly colour: number;
  readonly before: number | null;
  readonly beforeSample: number | null;
  readonly now: number | null;
  readonly sample: number | null;
  readonly change: Change;
  readonly p: number | null;
}

export interface BeforeAfterProps {
  readonly title: string;
  readonly about: string;
  /** A request to the metrics layer with a comparison. */
  readonly data: LoadedTable;
  readonly measure: string;
  readonly unit: Unit;
  /** The name, colour and meaning of a row; null leaves it out. Memoise it. */
  readonly nameOf: (row: Row) => { readonly name: string; readonly colour: number } | null;
}

/** A measure before and after an event, with samples, interval and test of the difference. */
export function BeforeAfter({ title, about, data, measure, unit, nameOf }: BeforeAfterProps): JSX.Element {
  const items = useMemo(() => comparedOf(toRecords(data.table), measure, nameOf), [data.table, measure, nameOf]);
  const columns = useColumns(unit);
  return (
    <Frame title={title} about={about} data={data} empty="No responses in these days.">
      <DataTable caption={title} items={items} columns={columns} keyOf={({ key }) => key} isPlain />
    </Frame>
  );
}

function comparedOf(rows: readonly Row[], measure: string, nameOf: BeforeAfterProps['nameOf']): readonly Compared[] {
  return rows.flatMap((row) => {
    const named = nameOf(row);
    if (named === null) return [];
    return [
      {
        key: textOf(row['competitor_id']) || named.name,
        ...named,
        before: numberOf(row[`${measure}_before`]),
        beforeSample: numberOf(row[`${measure}_before_n`]),
        now: numberOf(row[measure]),
        sample: numberOf(row[`${measure}_n`]),
        change: changeOf(row, measure),
        p: numberOf(row[`${measure}_p_adjusted`]),
      },
    ];
  });
}

function useColumns(unit: Unit): readonly ColumnSpec<Compared>[] {
  const { format } = useScope();
  return useMemo(
    () => [
      {
        id: 'name',
        label: 'Name',
        value: ({ name }) => name,
        cell: ({ name, colour }) => (
          <>
            <EntityDot colour={colour} />
            <bdi>{name}</bdi>
          </>
        ),
      },
      { id: 'before', label: 'Before', unit, value: ({ before }) => before },
      { id: 'now', label: 'After', unit, value: ({ now }) => now },
      {
        id: 'change',
        label: 'Change',
        unit,
        value: ({ change }) => change.change,
        isBeyondChance: ({ change }) => change.isSignificant,
        cell: ({ change }) => <Mark change={change} unit={unit} isHigherBetter={null} />,
      },
      {
        id: 'interval',
        label: '95 % interval',
        about: 'Interval of the change.',
        value: ({ change }) => change.lower,
        cell: ({ change }) =>
          change.lower === null || change.upper === null ? '–' : format.changes(change.lower, change.upper, unit),
      },
      {
        id: 'p',
        label: 'p',
        about: 'Two-sided, corrected for the number of tested rows.',
        unit: 'number',
        value: ({ p }) => p,
        cell: ({ p }) => format.p(p),
      },
      {
        id: 'n',
        label: 'n',
        about: 'Responses before and after.',
        unit: 'count',
        value: ({ sample }) => sample,
        cell: ({ beforeSample, sample }) => `${format.value(beforeSample, 'count')} / ${format.value(sample, 'count')}`,
      },
    ],
    [format, unit],
  );
}
