import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { EventMark } from '../../charts/time-series.ts';
import { SeriesFrame } from '../../components/series-frame.tsx';
import { addDays, type Day } from '../../state/calendar-days.ts';
import { useMetrics, useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { measurementOf, pointOf, seriesBy } from '../../state/series.ts';
import { textOf, toRecords } from '../../state/table.ts';

/** Days that are shown before and after an alert. */
const DAYS = 28;

function useDays(day: Day): { readonly from: Day; readonly to: Day; readonly events: readonly EventMark[] } {
  const { brands } = useScope();
  const events = useMemo<readonly EventMark[]>(() => [{ day, kind: 'alert', label: 'Alert' }], [day]);
  const last = brands.table?.completeTo ?? day;
  const end = [addDays(day, DAYS), last].sort()[0] ?? day;
  return { from: addDays(day, -DAYS), to: end < day ? day : end, events };
}

interface AlertHistoryProps {
  readonly day: Day;
  readonly competitor: string | null;
}

/** Visibility of the brand and of the competitor of an alert, in the days around it. */
export function AlertHistory({ day, competitor }: AlertHistoryProps): JSX.Element {
  const { brand, entityColour, linkTo } = useScope();
  const { from, to, events } = useDays(day);
  const data = useMetrics(
    brand && { metrics: 'visibility', group_by: 'entity', grain: 'day', brand: brand.id, from, to, compare_to: 'none' },
  );
  const series = useMemo(() => {
    return seriesBy(toRecords(data.table), 'competitor_id', {
      labelOf: (row) => textOf(row['entity']),
      colourOf: (id) => (id === '' || id === competitor ? entityColour(id || null) : null),
      pointOf: (row) => pointOf(row, 'visibility'),
    });
  }, [data.table, competitor, entityColour]);
  return (
    <SeriesFrame
      title="Visibility around the alert"
      about="Share of responses that mention the brand, and the competitor of the alert, per day (UTC). The mark is the day of the alert."
      data={data}
      to={linkTo('/', { range: null, from, to })}
      linkLabel="Overview of these days"
      unit="ratio"
      series={series}
      events={events}
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
  const { from, to, events } = useDays(day);
  const data = useQuery('domain_citations', brand && { brand: brand.id, from, to, domain });
  const series = useMemo(() => {
    const points = toRecords(data.table).map((row) => ({
      day: textOf(row['day']),
      ...measurementOf(row, 'share', { n: 'responses' }),
    }));
    return [{ label: domain, colour: 3, points }];
  }, [data.table, domain]);
  return (
    <SeriesFrame
      title="Citations of the domain"
      about="Share of responses that cite the domain, per day (UTC), with its 95 % interval."
      data={data}
      to={linkTo('/sources', {}, { domain })}
      linkLabel="Domain"
      unit="ratio"
      series={series}
      events={events}
      height={240}
      empty="No responses are stored for these days."
    />
  );
}
