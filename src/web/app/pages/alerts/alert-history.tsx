import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ChartContext } from '../../charts/drawing.ts';
import { drawTimeSeries, type EventMark } from '../../charts/time-series.ts';
import { ChartFrame } from '../../components/chart-frame.tsx';
import { addDays, type Day } from '../../state/calendar-days.ts';
import { useMetrics, useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { measurementOf, pointOf } from '../../state/series.ts';
import { textOf, toRecords } from '../../state/table.ts';

/** Days that are shown before and after an alert. */
const DAYS = 28;

function useDays(day: Day): { readonly from: Day; readonly to: Day } {
  const { brands } = useScope();
  const last = brands.table?.completeTo ?? day;
  const end = [addDays(day, DAYS), last].sort()[0] ?? day;
  return { from: addDays(day, -DAYS), to: end < day ? day : end };
}

interface AlertHistoryProps {
  readonly day: Day;
  readonly competitor: string | null;
}

/** Visibility of the brand and of the competitor of an alert, in the days around it. */
export function AlertHistory({ day, competitor }: AlertHistoryProps): JSX.Element {
  const { brand, entityColour, linkTo } = useScope();
  const { from, to } = useDays(day);
  const data = useMetrics(
    brand && { metrics: 'visibility', group_by: 'entity', grain: 'day', brand: brand.id, from, to, compare_to: 'none' },
  );
  const series = useMemo(() => {
    const rows = toRecords(data.table);
    return [null, ...(competitor === null ? [] : [competitor])].flatMap((id) => {
      const own = rows.filter((row) => (textOf(row['competitor_id']) || null) === id);
      const label = textOf(own[0]?.['entity']);
      const points = own.map((row) => pointOf(row, 'visibility'));
      return own.length === 0 ? [] : [{ label, colour: entityColour(id), points }];
    });
  }, [data.table, competitor, entityColour]);
  const draw = useDrawing('Visibility around the alert', series, day);
  return (
    <ChartFrame
      title="Visibility around the alert"
      about="Share of responses that mention the brand, and the competitor of the alert, per day (UTC). The mark is the day of the alert."
      data={data}
      to={linkTo('/', { range: null, from, to })}
      linkLabel="Overview of these days"
      draw={draw}
      legend={series}
      height={240}
      empty="No responses are stored for these days."
    />
  );
}

interface DomainHistoryProps {
  readonly day: Day;
  readonly domain: string;
}

/** Share of responses that cite the domain of an alert, in the days around it. */
export function DomainHistory({ day, domain }: DomainHistoryProps): JSX.Element {
  const { brand, linkTo } = useScope();
  const { from, to } = useDays(day);
  const data = useQuery('domain_citations', brand && { brand: brand.id, from, to, domain });
  const series = useMemo(() => {
    const points = toRecords(data.table).map((row) => ({
      day: textOf(row['day']),
      ...measurementOf(row, 'share', { n: 'responses' }),
    }));
    return [{ label: domain, colour: 3, points }];
  }, [data.table, domain]);
  const draw = useDrawing('Citations of the domain around the alert', series, day);
  return (
    <ChartFrame
      title="Citations of the domain"
      about="Share of responses that cite the domain, per day (UTC), with its 95 % interval."
      data={data}
      to={linkTo('/sources', {}, { domain })}
      linkLabel="Domain"
      draw={draw}
      legend={series}
      height={240}
      empty="No responses are stored for these days."
    />
  );
}

function useDrawing(label: string, series: Parameters<typeof drawTimeSeries>[0]['series'], day: Day) {
  return useMemo(() => {
    const events: EventMark[] = [{ day, kind: 'alert', label: 'Alert' }];
    return (context: ChartContext) =>
      drawTimeSeries({ label, unit: 'ratio', series, events, hasZero: true, height: 240 }, context);
  }, [label, series, day]);
}
