import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseHTML } from 'linkedom';
import { describe, expect, test } from 'vitest';
import { drawBars } from '../../../src/web/app/charts/bars.ts';
import type { ChartContext, Drawing } from '../../../src/web/app/charts/drawing.ts';
import { fileColours, PALETTES, pageColours } from '../../../src/web/app/charts/palette.ts';
import { drawScatter } from '../../../src/web/app/charts/scatter.ts';
import { drawStackedArea } from '../../../src/web/app/charts/stacked-area.ts';
import { drawSparkline } from '../../../src/web/app/charts/time-series.ts';
import { drawTimeSeries } from '../../../src/web/app/charts/time-series.ts';
import { createFormat } from '../../../src/web/app/state/format.ts';
import { contrast, luminance } from '../../support/contrast.ts';

const { document } = parseHTML('<!doctype html><html><body></body></html>');
const context: ChartContext = { document, theme: fileColours('light'), width: 640, format: createFormat() };

const points = [0.2, 0.4, null, 0.3].map((value, index) => ({
  day: `2026-11-0${index + 1}`,
  value,
  lower: value === null ? null : value - 0.05,
  upper: value === null ? null : value + 0.05,
  n: 40,
}));
const series = [
  { label: 'One', colour: 1, points },
  { label: '<b>Two</b>', colour: 2, points },
];
const events = [{ day: '2026-11-02', kind: 'alert', label: 'Visibility fell' }] as const;
const bars = [
  { label: 'First', value: 3, colour: 0, lower: 2, upper: 4 },
  { label: 'Second', value: 5, colour: 1 },
];
const dots = [
  { label: 'A', x: 1, y: 2, size: 3, colour: 0 },
  { label: 'B', x: 2, y: 1, colour: 1 },
];
const axis = { label: 'Axis', unit: 'number' } as const;

const charts: Readonly<Record<string, (context: ChartContext) => Drawing>> = {
  'time series': (given) => drawTimeSeries({ label: 'Chart', unit: 'ratio', series, events }, given),
  'stacked area': (given) => drawStackedArea({ label: 'Chart', unit: 'ratio', series }, given),
  'lying bars': (given) => drawBars({ label: 'Chart', unit: 'count', bars }, given),
  'upright bars': (given) => drawBars({ label: 'Chart', unit: 'count', bars, isUpright: true }, given),
  'scatter plot': (given) => drawScatter({ label: 'Chart', x: axis, y: axis, points: dots }, given),
  sparkline: (given) => drawSparkline({ label: 'Chart', series: { points, colour: 0 } }, given),
};

describe.each(Object.entries(charts))('a %s drawn in Node', (_, draw) => {
  test('is an SVG with a name, literal colours and no inline style', () => {
    const { svg } = draw(context);
    const text = svg.outerHTML;
    expect(text).toMatch(/^<svg /);
    expect(svg.getAttribute('role')).toBe('img');
    expect(svg.getAttribute('aria-label')).toBe('Chart');
    expect(svg.querySelectorAll('path, rect, circle').length).toBeGreaterThan(0);
    expect(text).toMatch(/#[0-9a-f]{6}/);
    expect(text).not.toMatch(/<style|\sstyle=|var\(--|NaN|undefined|<b>/);
  });

  test('uses the variables of the page in the page', () => {
    expect(draw({ ...context, theme: pageColours }).svg.outerHTML).toMatch(/var\(--series-\d\)/);
  });
});

test('a time series has straight lines, and bands for at most two series or the highlighted one', () => {
  const draw = (shown: typeof series, highlighted: string | null): SVGSVGElement =>
    drawTimeSeries({ label: 'Chart', unit: 'ratio', series: shown }, { ...context, highlighted }).svg;
  const bandsOf = (svg: SVGSVGElement): number => svg.querySelectorAll('[fill-opacity="0.15"] path').length;
  const fadedOf = (svg: SVGSVGElement): number => svg.querySelectorAll('path[opacity="0.2"]').length;
  const three = [...series, { label: 'Three', colour: 3, points }];
  for (const path of draw(three, null).querySelectorAll('path')) expect(path.getAttribute('d')).not.toMatch(/[CSQ]/);
  expect(bandsOf(draw(three, null))).toBe(0);
  expect(fadedOf(draw(three, null))).toBe(0);
  expect(bandsOf(draw(series, null))).toBe(2);
  expect(bandsOf(draw(series.slice(0, 1), null))).toBe(1);
  const highlighted = draw(three, 'One');
  expect(bandsOf(highlighted)).toBe(1);
  expect(fadedOf(highlighted)).toBe(2);
});

test('a tenth series differs from the first in its pattern, not in its colour', () => {
  const many = Array.from({ length: 10 }, (_, index) => ({ label: `Series ${index}`, colour: index + 1, points }));
  const { svg } = drawTimeSeries({ label: 'Chart', unit: 'ratio', series: many }, context);
  const lines = [...svg.querySelectorAll('g[aria-label="line"], g[fill="none"][stroke-width="1.6"]')];
  expect(lines).toHaveLength(10);
  const looks = lines.map((line) => [line.getAttribute('stroke'), line.getAttribute('stroke-dasharray')].join());
  expect(new Set(looks).size).toBe(10);
  expect(lines[9]?.getAttribute('stroke')).toBe(lines[0]?.getAttribute('stroke'));
});

test('a time series without data has axes and no stops', () => {
  const { svg, stops } = drawTimeSeries({ label: 'Empty', unit: 'ratio', series: [] }, context);
  expect(stops).toEqual([]);
  expect(svg.outerHTML).not.toContain('NaN');
});

test('the stops of a time series have the values, intervals, samples and events of their day', () => {
  const { stops } = drawTimeSeries({ label: 'Chart', unit: 'ratio', series: series.slice(0, 1), events }, context);
  expect(stops.map(({ title }) => title)).toEqual(['1 Nov 2026', '2 Nov 2026', '3 Nov 2026', '4 Nov 2026']);
  expect(stops[1]?.lines).toEqual([
    { colour: 1, label: 'One', value: '40.0\u202f% (35.0\u202f% – 45.0\u202f%), n = 40' },
    { colour: null, label: 'Visibility fell', value: '2 Nov' },
  ]);
  expect(stops[2]?.lines[0]?.value).toBe('–, n = 40');
  const places = stops.map(({ x }) => x);
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(new Set(places).size).toBe(4);
});

describe('the colours of the charts', () => {
  const rgb = (hex: string): string => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(' ');

  test.each(['light', 'dark'] as const)(
    'have a contrast of at least 3 to the %s surface, and text of at least 4.5',
    (appearance) => {
      const { series: colours, surface, ink, muted } = PALETTES[appearance];
      const against = luminance(rgb(surface));
      expect(new Set(colours).size).toBe(10);
      for (const colour of colours) expect(contrast(luminance(rgb(colour)), against)).toBeGreaterThanOrEqual(3);
      for (const colour of [ink, muted]) expect(contrast(luminance(rgb(colour)), against)).toBeGreaterThanOrEqual(4.5);
    },
  );

  test('equal the colours of the style sheet', () => {
    const css = readFileSync(join(import.meta.dirname, '../../../src/web/app/styles/tokens.css'), 'utf8');
    const { light, dark } = PALETTES;
    const pairs = (['ink', 'muted', 'line', 'surface'] as const).map((name) => [name, light[name], dark[name]]);
    const series = light.series.map((colour, index) => [`series-${index}`, colour, dark.series[index]]);
    for (const [name, lightColour, darkColour] of [...pairs, ...series]) {
      expect(css).toContain(`--${name}: light-dark(${lightColour}, ${darkColour});`);
    }
  });
});
