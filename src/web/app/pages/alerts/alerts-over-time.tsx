import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { drawStackedBars } from '../../charts/stacked-bars.ts';
import { SeriesFrame } from '../../components/series-frame.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { seriesBy } from '../../state/series.ts';
import { numberOf, textOf, toRecords } from '../../state/table.ts';
import { typeColour, typeLabel } from './alert-types.ts';

/** Number of alerts of each type over time. */
export function AlertsOverTime(): JSX.Element {
  const { params, grain } = useScope();
  const data = useQuery('alerts_over_time', params && { ...params, grain });
  const series = useMemo(
    () =>
      seriesBy(toRecords(data.table), 'type', {
        labelOf: ({ type }) => typeLabel(textOf(type)),
        colourOf: typeColour,
        pointOf: ({ period, alerts }) => ({ day: textOf(period), value: numberOf(alerts) }),
      }),
    [data.table],
  );
  return (
    <SeriesFrame
      drawAs={drawStackedBars}
      height={240}
      title="Alerts by type"
      about={`Alerts per ${grain} (UTC), including alerts that the API no longer lists.`}
      data={data}
      unit="count"
      series={series}
      empty="No alerts in this range."
    />
  );
}
