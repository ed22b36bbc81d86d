import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { SeriesPoint } from '../../charts/drawing.ts';
import type { Series } from '../../charts/time-series.ts';
import { useMeasureChoice } from '../../components/measure-choice.tsx';
import { SeriesFrame } from '../../components/series-frame.tsx';
import { addDays, daysBetween, grainOf } from '../../state/calendar-days.ts';
import { useScope } from '../../state/scope.tsx';
import { pointOf } from '../../state/series.ts';
import { MEASURES } from '../../state/shown-measures.ts';
import { type Table, toRecords } from '../../state/table.ts';
import { useBothSides } from './both-sides.ts';
import type { Side } from './sides.ts';

/** A measure of both sides over time in one chart. The second of two periods is drawn on the days of the first. */
export function ComparedOverTime({ sides }: { readonly sides: readonly [Side, Side] }): JSX.Element {
  const { range } = useScope();
  const [{ name, title, unit, isHigherBetter }, tools] = useMeasureChoice(MEASURES);
  const [first, second] = sides;
  const days = first.days ?? range;
  const grain = days === null ? 'day' : first.days === null ? grainOf(days.from, days.to) : periodGrain(sides);
  const { a, b, both } = useBothSides(sides, { metrics: name, grain });
  const shift = shiftOf(sides, grain);
  const series = useMemo<readonly Series[]>(
    () => [
      { label: first.label, colour: first.colour, points: pointsOf(a.table, name, 0) },
      { label: second.label, colour: second.colour, points: pointsOf(b.table, name, shift), isDashed: shift !== 0 },
    ],
    [a.table, b.table, name, shift, first.label, first.colour, second.label, second.colour],
  );
  return (
    <SeriesFrame
      title={`${title} over time`}
      about={`Per ${grain}, with 95 % intervals.${shift === 0 ? '' : ' The second period is dashed and drawn on the days of the first.'}`}
      data={both}
      unit={unit}
      series={series}
      isReversed={!isHigherBetter}
      tools={tools}
    />
  );
}

// Months have different lengths, so long periods are compared by weeks.
function periodGrain([first, second]: readonly [Side, Side]): 'day' | 'week' {
  const lengths = [first, second].map(({ days }) => (days === null ? 0 : daysBetween(days.from, days.to)));
  return Math.max(...lengths) <= 92 ? 'day' : 'week';
}

/** Days by which the second period is moved; whole weeks if points are weeks. */
function shiftOf([first, second]: readonly [Side, Side], grain: string): number {
  if (first.days === null || second.days === null) return 0;
  const days = daysBetween(second.days.from, first.days.from) - 1;
  return grain === 'week' ? Math.round(days / 7) * 7 : days;
}

function pointsOf(table: Table | null, measure: string, shift: number): readonly SeriesPoint[] {
  return toRecords(table).map((row) => {
    const point = pointOf(row, measure);
    return shift === 0 ? point : { ...point, day: addDays(point.day, shift) };
  });
}
