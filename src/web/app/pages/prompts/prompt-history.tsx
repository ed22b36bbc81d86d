import type { JSX } from 'preact';
import { intervalNote } from '../../components/measure-over-time.tsx';
import { SeriesFrame } from '../../components/series-frame.tsx';
import { daysBetween } from '../../state/calendar-days.ts';
import { useMetrics } from '../../state/data.tsx';
import { useRoute } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { useEngineSeries } from '../../state/use-engine-series.ts';

const MEASURES = [
  {
    name: 'visibility',
    label: 'Visibility',
    about: 'Share of responses to this prompt that mention the brand',
    unit: 'ratio',
    isReversed: false,
  },
  {
    name: 'position',
    label: 'Position',
    about: 'Mean position of the brand in the responses that mention it; 1 is the first and at the top',
    unit: 'position',
    isReversed: true,
  },
  {
    name: 'sentiment',
    label: 'Sentiment',
    about: 'Mean worth of the sentiment labels of the responses that mention the brand',
    unit: 'score',
    isReversed: false,
  },
] as const;

/** Parameter of the address. */
const MEASURE = 'measure';
/** Ranges of more days are drawn by month: an engine answers a prompt about once a day. */
const WEEKS_DAYS_MAX = 200;

/** A measure of one prompt over time, with one line per engine. */
export function PromptEngines(): JSX.Element {
  const { params, range } = useScope();
  const { path, search, navigate } = useRoute();
  const chosen = MEASURES.find((measure) => measure.name === search.get(MEASURE)) ?? MEASURES[0];
  const { name, label, about, unit, isReversed } = chosen;
  const grain = range !== null && daysBetween(range.from, range.to) > WEEKS_DAYS_MAX ? 'month' : 'week';
  const choose = (measure: string): void => {
    const next = new URLSearchParams(search);
    next.set(MEASURE, measure);
    navigate(`${path}?${next}`, { replace: true });
  };
  const data = useMetrics(
    params === null
      ? null
      : { ...params, metrics: 'visibility,position,sentiment', group_by: 'engine', grain, compare_to: 'none' },
  );
  const series = useEngineSeries(data.table, name);
  const tools = (
    <div class="row switch" role="group" aria-label="Measure of the chart">
      {MEASURES.map((measure) => (
        <button
          key={measure.name}
          type="button"
          class="small"
          aria-pressed={measure === chosen}
          onClick={() => choose(measure.name)}
        >
          {measure.label}
        </button>
      ))}
    </div>
  );
  return (
    <SeriesFrame
      title={`${label} by engine`}
      about={`${about}, per ${grain}. ${intervalNote(series.length)} They are wide, because few responses are counted.`}
      data={data}
      unit={unit}
      series={series}
      isReversed={isReversed}
      tools={tools}
    />
  );
}
