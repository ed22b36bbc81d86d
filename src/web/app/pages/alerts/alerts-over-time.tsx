import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ChartContext } from '../../charts/drawing.ts';
import { drawStackedBars } from '../../charts/stacked-bars.ts';
import { ChartFrame } from '../../components/chart-frame.tsx';
import { grainOf } from '../../state/calendar-days.ts';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { numberOf, textOf, toRecords } from '../../state/table.ts';
import { typeColour, typeLabel } from './alert-types.ts';

/** Number of alerts of each type over time. */
export function AlertsOverTime(): JSX.Element {
  const { params, range } = useScope();
  const grain = range === null ? 'day' : grainOf(range.from, range.to);
  const data = useQuery('alerts_over_time', params && { ...params, grain });
  const series = useMemo(() => {
    const rows = toRecords(data.table);
    const types = [...new Set(rows.map((row) => textOf(row['type'])))].sort((a, b) => typeColour(a) - typeColour(b));
    return types.map((each) => ({
      label: typeLabel(each),
      colour: typeColour(each),
      points: rows
        .filter((row) => textOf(row['type']) === each)
        .map((row) => ({ day: textOf(row['period']), value: numberOf(row['alerts']) })),
    }));
  }, [data.table]);
  const draw = useMemo(
    () => (context: ChartContext) =>
      drawStackedBars({ label: 'Alerts by type over time', unit: 'count', series }, context),
    [series],
  );
  return (
    <ChartFrame
      title="Alerts by type"
      about={`Alerts per ${grain} (UTC), including alerts that the API no longer lists.`}
      data={data}
      draw={draw}
      legend={series}
      height={240}
      empty="No alerts in this range."
    />
  );
}
