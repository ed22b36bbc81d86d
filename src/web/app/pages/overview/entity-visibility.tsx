import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { SeriesPoint } from '../../charts/drawing.ts';
import { SeriesFrame } from '../../components/series-frame.tsx';
import { addDays } from '../../state/calendar-days.ts';
import { useMetrics } from '../../state/data.tsx';
import { wilsonInterval } from '../../state/difference.ts';
import { useScope } from '../../state/scope.tsx';
import { pointOf } from '../../state/series.ts';
import { groupedBy, textOf, toRecords } from '../../state/table.ts';
import { EventNote, useEvents } from './events.tsx';

/** Competitors in the chart beside the brand. */
const RIVALS_MAX = 4;
/** Days of a point of a daily line. A single day has few responses. */
const MEAN_DAYS = 7;

/** Visibility of the brand and of the most visible competitors over time, and the events that may explain a jump. */
export function EntityVisibility(): JSX.Element {
  const { params, range, grain, linkTo, entityColour } = useScope();
  const isDaily = grain === 'day';
  const from = range === null ? '' : isDaily ? addDays(range.from, 1 - MEAN_DAYS) : range.from;
  const data = useMetrics(
    params && { ...params, from, metrics: 'visibility', group_by: 'entity', grain, compare_to: 'none' },
  );
  const events = useEvents();
  const series = useMemo(() => {
    const rows = toRecords(data.table);
    const found = [...groupedBy(rows, 'competitor_id')].map(([id, own]) => {
      const points = own.map((row) => pointOf(row, 'visibility'));
      return {
        label: textOf(own[0]?.['entity']),
        colour: entityColour(id === '' ? null : id),
        points: isDaily ? meansOf(points, range?.from ?? '') : points,
      };
    });
    const lastOf = ({ points }: { readonly points: readonly SeriesPoint[] }): number => points.at(-1)?.value ?? 0;
    const rivals = found.filter(({ colour }) => colour !== 0).sort((a, b) => lastOf(b) - lastOf(a));
    return [...found.filter(({ colour }) => colour === 0), ...rivals.slice(0, RIVALS_MAX)];
  }, [data.table, entityColour, isDaily, range?.from]);
  return (
    <SeriesFrame
      title="Visibility over time"
      hint={`you and the most visible rivals, ${isDaily ? `${MEAN_DAYS}-day mean` : `per ${grain}`}`}
      about="Share of responses that mention the brand, and the same for each competitor. The band is the 95 % interval of the brand."
      data={data}
      to={linkTo('/competitors')}
      unit="ratio"
      series={series}
      events={events}
      height={300}
      hasEndLabels
      note={<EventNote events={events} />}
    />
  );
}

// The share of all responses of the days up to each day.
function meansOf(points: readonly SeriesPoint[], from: string): readonly SeriesPoint[] {
  return points.flatMap((point, index): readonly SeriesPoint[] => {
    if (point.day < from) return [];
    const first = addDays(point.day, 1 - MEAN_DAYS);
    const days = points.slice(Math.max(0, index + 1 - MEAN_DAYS), index + 1).filter(({ day }) => day >= first);
    const n = days.reduce((sum, day) => sum + (day.n ?? 0), 0);
    const mentions = days.reduce((sum, day) => sum + (day.n ?? 0) * (day.value ?? 0), 0);
    if (n === 0) return [{ day: point.day, value: null }];
    const [lower, upper] = wilsonInterval(mentions / n, n);
    return [{ day: point.day, value: mentions / n, lower, upper, n }];
  });
}
