import type { ChartSpec } from '../../report/report-types.ts';
import { drawBars } from '../charts/bars.ts';
import type { ChartContext, Drawing } from '../charts/drawing.ts';
import { drawStackedArea } from '../charts/stacked-area.ts';
import { svgFile } from '../charts/svg-file.ts';
import { drawTimeSeries } from '../charts/time-series.ts';
import { createFormat } from '../state/format.ts';
import { createDocument, drawReport } from './draw-report.tsx';

export { drawReport };

/** Draws a result as a complete SVG document. Series are coloured in their order. */
export function renderChart(spec: ChartSpec): string {
  const { title, about, kind } = spec;
  const legend =
    kind === 'bars' ? [] : spec.series.flatMap(({ label }, colour) => (label === '' ? [] : [{ label, colour }]));
  return svgFile(
    { title, about, legend, draw: (context) => drawSpec(spec, context) },
    createFormat(),
    createDocument(),
    spec.width,
  );
}

function drawSpec({ kind, title: label, unit, series: given, bandsMax }: ChartSpec, context: ChartContext): Drawing {
  if (kind === 'bars') {
    const bars = given.map((one) => {
      const { value = null, lower = null, upper = null } = one.points[0] ?? {};
      const colour = one.isOwn === false ? 1 : 0;
      return { label: one.label, value, lower, upper, colour, ...(one.note === undefined ? {} : { note: one.note }) };
    });
    return drawBars({ label, unit, bars }, context);
  }
  const series = given.map((one, colour) => ({ ...one, colour }));
  if (kind === 'areas') return drawStackedArea({ label, unit, series }, context);
  const bands = bandsMax === undefined ? {} : { bandsMax };
  const scale = { hasZero: unit === 'ratio' || unit === 'count', isReversed: unit === 'position' };
  return drawTimeSeries({ label, unit, series, ...scale, ...bands }, context);
}
