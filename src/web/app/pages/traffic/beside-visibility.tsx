import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ChartContext } from '../../charts/drawing.ts';
import type { SeriesPoint } from '../../charts/drawing.ts';
import { drawTimeSeries } from '../../charts/time-series.ts';
import { ChartFrame } from '../../components/chart-frame.tsx';
import { Chart } from '../../components/chart.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { pointOf } from '../../state/series.ts';
import { numberOf, textOf, toRecords } from '../../state/table.ts';

const HEIGHT = 190;

/** Visibility and visits over the same days, each with its own chart and axis. */
export function BesideVisibility(): JSX.Element {
  const { params, grain, linkTo } = useScope();
  const data = useQuery('traffic_beside_visibility', params && { ...params, grain });
  const rows = useMemo(() => toRecords(data.table), [data.table]);
  const drawVisibility = useMemo(() => {
    const points = rows.map((row) => pointOf(row, 'visibility', { n: 'responses' }));
    return drawLine('Visibility', 'ratio', points);
  }, [rows]);
  const drawSessions = useMemo(() => {
    const points = rows.map<SeriesPoint>((row) => ({ day: textOf(row['period']), value: numberOf(row['sessions']) }));
    return drawLine('AI sessions', 'count', points);
  }, [rows]);
  return (
    <ChartFrame
      title="Visibility beside visits"
      about={`Share of responses that mention the brand with its 95 % interval, and below it AI sessions of all sources, per ${grain}. Filters of engines, topics and prompts apply to visibility only.`}
      data={data}
      to={linkTo('/')}
      linkLabel="Overview"
      draw={drawVisibility}
      height={HEIGHT}
      legend={[{ label: 'Visibility', colour: 0 }]}
      below={
        <>
          <h3 class="chart-title">AI sessions</h3>
          <Chart label="AI sessions over time" draw={drawSessions} height={HEIGHT} />
        </>
      }
      note="Days of responses are UTC; days of visits are those of the property's time zone. The two can differ by a day."
    />
  );
}

function drawLine(label: string, unit: 'ratio' | 'count', points: readonly SeriesPoint[]) {
  const series = [{ label, colour: 0, points }];
  return (context: ChartContext) =>
    drawTimeSeries({ label: `${label} over time`, unit, series, hasZero: true, height: HEIGHT }, context);
}
