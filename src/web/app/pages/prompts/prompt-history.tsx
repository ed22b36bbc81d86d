import type { JSX } from 'preact';
import { useMeasureChoice } from '../../components/measure-choice.tsx';
import { intervalNote } from '../../components/measure-over-time.tsx';
import { SeriesFrame } from '../../components/series-frame.tsx';
import { daysBetween } from '../../state/calendar-days.ts';
import { useMetrics } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { measureOf } from '../../state/shown-measures.ts';
import { useEngineSeries } from '../../state/use-engine-series.ts';

const NAMES = ['visibility', 'position', 'sentiment'];
const MEASURES = NAMES.map(measureOf);
/** Ranges of more days are drawn by month: an engine answers a prompt about once a day. */
const WEEKS_DAYS_MAX = 200;

/** A measure of one prompt over time, with one line per engine. */
export function PromptEngines(): JSX.Element {
  const { params, range } = useScope();
  const [{ name, title, about, unit, isHigherBetter }, tools] = useMeasureChoice(MEASURES);
  const grain = range !== null && daysBetween(range.from, range.to) > WEEKS_DAYS_MAX ? 'month' : 'week';
  const data = useMetrics(
    params && { ...params, metrics: NAMES.join(), group_by: 'engine', grain, compare_to: 'none' },
  );
  const series = useEngineSeries(data.table, name);
  return (
    <SeriesFrame
      title={`${title} by engine`}
      about={`${about} Per ${grain}. ${intervalNote(series.length)} They are wide, because few responses are counted.`}
      data={data}
      unit={unit}
      series={series}
      isReversed={!isHigherBetter}
      tools={tools}
    />
  );
}
