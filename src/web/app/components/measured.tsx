import type { JSX } from 'preact';
import type { Format, Unit } from '../state/format.ts';
import { useScope } from '../state/scope.tsx';
import { type Change, changeOf, type MeasurementColumns, measurementOf } from '../state/series.ts';
import type { Measure } from '../state/shown-measures.ts';
import { type Measurement, numberOf, type Row } from '../state/table.ts';
import type { ColumnSpec } from './data-table.tsx';
import { Delta } from './parts.tsx';

export interface MeasuredProps extends Pick<Measurement, 'value'>, Partial<Omit<Measurement, 'value'>> {
  readonly unit: Unit;
}

/** A value with its interval and the size of its sample. */
export function Measured({ value, lower = null, upper = null, n = null, unit }: MeasuredProps): JSX.Element {
  const { format } = useScope();
  return (
    <>
      {format.value(value, unit)}
      <span class="beside">{lower !== null && upper !== null ? intervalText(format, lower, upper, unit) : ' '}</span>
      {n !== null && <span class="beside">n = {format.value(n, 'count')}</span>}
    </>
  );
}

export interface ChangedProps {
  readonly change: Change;
  readonly unit: Unit;
  readonly isHigherBetter: boolean | null;
}

/** A change with its interval and whether it is significant. */
export function Changed({ change, unit, isHigherBetter }: ChangedProps): JSX.Element {
  const { format } = useScope();
  const { lower, upper } = change;
  return (
    <span class="changed">
      <Delta {...change} unit={unit} isHigherBetter={isHigherBetter} isShort={change.change === null} />
      {lower !== null && upper !== null && (
        <span class="beside" aria-hidden="true">
          {format.changes(lower, upper, unit)}
        </span>
      )}
    </span>
  );
}

/** Returns the column of a measure, a share unless a unit is given, with its interval and sample. */
export function measuredColumn(
  column: Pick<ColumnSpec<Row>, 'id' | 'label' | 'about' | 'unit'> & MeasurementColumns,
): ColumnSpec<Row> {
  const { id, unit = 'ratio' } = column;
  return {
    ...column,
    unit,
    value: (row) => numberOf(row[id]),
    cell: (row) => <Measured {...measurementOf(row, id, column)} unit={unit} />,
  };
}

export interface MeasureColumnsOptions {
  /** Whether the rows have changes against a comparison range. */
  readonly hasChange: boolean;
  /** Whether a higher value of the row is good, if that differs between rows; null if it is neither. */
  readonly isGood?: (row: Row, isHigherBetter: boolean) => boolean | null;
  readonly format: Format;
}

/** Returns the columns of measures in rows of the metrics layer: value, interval, sample and change. */
export function measureColumns(
  measures: readonly Measure[],
  { hasChange, isGood = (_, isHigherBetter) => isHigherBetter, format }: MeasureColumnsOptions,
): readonly ColumnSpec<Row>[] {
  return measures.flatMap(({ name, title, about, unit, isHigherBetter }): readonly ColumnSpec<Row>[] => {
    const value = measuredColumn({
      id: name,
      label: title,
      about: `${about} With its 95 % interval and its sample size n.`,
      unit,
    });
    const change: ColumnSpec<Row> = {
      id: `${name}_change`,
      label: `Δ ${title}`,
      about: `Change of ${title.toLocaleLowerCase()} against the comparison range, with its 95 % interval.`,
      unit,
      value: (row) => numberOf(row[`${name}_change`]),
      cell: (row) => (
        <span title={`Before: ${format.value(numberOf(row[`${name}_before`]), unit)}`}>
          <Changed change={changeOf(row, name)} unit={unit} isHigherBetter={isGood(row, isHigherBetter)} />
        </span>
      ),
    };
    return hasChange ? [value, change] : [value];
  });
}

function intervalText(format: Format, lower: number, upper: number, unit: Unit): string {
  return `${format.value(lower, unit)} – ${format.value(upper, unit)}`;
}
