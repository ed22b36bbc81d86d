import { describe, expect, it } from 'vitest';
import { barChart, lineChart, stackChart } from '../../src/web/report/charts.ts';
import { wilson } from '../../src/web/report/share.ts';
import { escaped } from '../../src/web/report/svg.ts';
import { fileTheme, pageTheme } from '../../src/web/report/theme.ts';

const days = ['2026-01-05', '2026-01-12', '2026-01-19', '2026-01-26'];
const head = { title: 'Title <&>', about: 'What it "shows".' };
const format = (value: number): string => value.toFixed(2);

describe('a line chart', () => {
  const draw = (values: readonly (number | null)[], width: 'wide' | 'narrow' = 'wide'): string =>
    lineChart({ ...head, days, series: [{ name: 'a', values }], hasOwn: true, format }, width, fileTheme);

  it('places greater values higher and later days further right', () => {
    const dots = circles(draw([0, 1, 0.5, null]));
    expect(dots).toHaveLength(3);
    const [zero, one, half] = dots as [Dot, Dot, Dot];
    expect(one.y).toBeLessThan(half.y);
    expect(half.y).toBeLessThan(zero.y);
    expect(half.y).toBeCloseTo((zero.y + one.y) / 2, 0);
    expect([zero.x, one.x, half.x]).toEqual([zero.x, one.x, half.x].toSorted((a, b) => a - b));
    expect(one.x - zero.x).toBeCloseTo(half.x - one.x, 0);
  });

  it('leaves a gap for missing values and draws a dot for an isolated value', () => {
    const svg = draw([0.2, null, 0.4, 0.5]);
    expect(circles(svg)).toHaveLength(3);
    const [path = ''] = /d="(M[^"]*)" fill="none" stroke="#1d4ed8"/.exec(svg)?.slice(1) ?? [];
    expect(path.match(/M/g)).toHaveLength(2);
  });

  it('stays within its frame with any number of lines that end at the same point', () => {
    for (const width of ['wide', 'narrow'] as const) {
      const series = Array.from({ length: 9 }, (_, index) => ({
        name: `competitor ${index}`,
        values: [0.1, 0.1, 0.1, 0.1],
      }));
      const svg = lineChart({ ...head, days, series, hasOwn: false, format }, width, pageTheme);
      const [, right, bottom] = (/viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? []).map(Number) as [number, number, number];
      const names = [...svg.matchAll(/<text[^>]* x="([\d.]+)" y="([\d.]+)"[^>]*>compet/g)].map((match) =>
        Number(match[2]),
      );
      expect(names).toHaveLength(9);
      for (const [index, y] of names.toSorted((a, b) => a - b).entries()) {
        expect(y).toBeGreaterThan(0);
        expect(y).toBeLessThan(bottom);
        if (index > 0) expect(y - (names.toSorted((a, b) => a - b)[index - 1] as number)).toBeGreaterThanOrEqual(14);
      }
      for (const { x } of circles(svg)) expect(x).toBeLessThan(right);
    }
  });

  it('is drawn without any values and with zeros only', () => {
    expect(circles(draw([null, null, null, null]))).toEqual([]);
    expect(new Set(circles(draw([0, 0, 0, 0])).map(({ y }) => y)).size).toBe(1);
  });
});

it('a bar is as long as its value and is not drawn without a value', () => {
  const rows = [
    { name: 'all', value: 1 },
    { name: 'half', value: 0.5, lower: 0.4, upper: 0.6 },
    { name: 'nothing', value: null },
  ];
  const svg = barChart({ ...head, rows, format }, 'wide', fileTheme);
  const widths = [...svg.matchAll(/<rect x="170" y="[\d.]+" width="([\d.]+)"/g)].map((match) => Number(match[1]));
  expect(widths).toHaveLength(2);
  expect((widths[0] as number) / (widths[1] as number)).toBeCloseTo(2, 2);
  expect(svg).toContain('>none<');
});

it('the parts of a column are stacked and fill it', () => {
  const parts = [
    { name: 'own', values: [0.25, null, 0, 1] },
    { name: 'others', values: [0.75, null, 1, 0] },
  ];
  const svg = stackChart({ ...head, days, parts }, 'wide', fileTheme);
  const heights = [...svg.matchAll(/height="([\d.]+)" fill="#(?:1d4ed8|c2410c)"><title>/g)].map((match) =>
    Number(match[1]),
  );
  expect(heights).toHaveLength(4);
  const [own, others, whole, last] = heights as [number, number, number, number];
  expect(own + others).toBeCloseTo(whole, 0);
  expect(last).toBeCloseTo(whole, 1);
});

it('texts are escaped in SVG', () => {
  expect(escaped(`<script>"'&\u0000\ud800\ufffe\uffff`)).toBe('&lt;script&gt;&quot;&#39;&amp;    ');
  const name = '</text><script>alert(1)</script>';
  const svg = lineChart(
    { ...head, days, series: [{ name, values: [1, 2, 3, 4] }], hasOwn: true, format },
    'wide',
    fileTheme,
  );
  expect(svg).not.toContain('<script');
});

it('the Wilson interval matches published values', () => {
  // Newcombe, R. G. (1998), Statistics in Medicine 17:857-872, table I.
  for (const [part, whole, lower, upper] of [
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ] as const) {
    expect(wilson({ part, whole }).lower).toBeCloseTo(lower, 4);
    expect(wilson({ part, whole }).upper).toBeCloseTo(upper, 4);
  }
  expect(wilson({ part: 0, whole: 0 })).toEqual({ lower: 0, upper: 1 });
});

interface Dot {
  readonly x: number;
  readonly y: number;
}

function circles(svg: string): Dot[] {
  return [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map((match) => ({
    x: Number(match[1]),
    y: Number(match[2]),
  }));
}
