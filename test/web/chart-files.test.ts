import { Resvg } from '@resvg/resvg-js';
import { parseHTML } from 'linkedom';
import { describe, expect, test } from 'vitest';
import { loadReportApp } from '../../src/web/report/report-app.ts';
import type { ChartSpec } from '../../src/web/report/report-types.ts';
import { FONTS, svgToPng } from '../../src/web/report/svg-to-png.ts';

const points = [0.2, null, 0.3, 0.4].map((value, index) => ({ day: `2026-11-0${index + 1}`, value }));
const hostile = '</text><script>alert(1)</script>\u0000\uFFFE';

function specOf(kind: ChartSpec['kind'], label = 'One'): ChartSpec {
  const series = [
    { label, points: kind === 'bars' ? [{ day: '', value: 0.4, lower: 0.3, upper: 0.5 }] : points },
    { label: 'Two', points },
  ];
  return { kind, title: `A chart of ${kind}`, about: 'One sentence.', unit: 'ratio', series };
}

describe.each(['lines', 'areas', 'bars'] as const)('a chart of %s as a file', (kind) => {
  test('is a complete SVG document with literal colours, a title and its series', async () => {
    const { renderChart } = await loadReportApp();
    const svg = renderChart(specOf(kind));
    expect(svg).toMatch(/^<svg [\s\S]*<\/svg>$/);
    expect(svg).not.toMatch(/var\(--|NaN|undefined|<style|\shref=/);
    for (const text of [`A chart of ${kind}`, 'One sentence.', 'One', 'Two']) expect(svg).toContain(`>${text}</text>`);
    expect(svg).toContain(`aria-label="A chart of ${kind}. One sentence."`);
  });

  test('stays well-formed with hostile names', async () => {
    const { renderChart } = await loadReportApp();
    const svg = renderChart({ ...specOf(kind, hostile), title: hostile });
    expect(svg).not.toContain('<script');
    for (const forbidden of ['\u0000', '\uFFFE']) expect(svg).not.toContain(forbidden);
    await expect(svgToPng(svg)).resolves.toBeInstanceOf(Uint8Array);
  });

  test('becomes a PNG of twice its size that is not blank', async () => {
    const { renderChart } = await loadReportApp();
    const svg = renderChart(specOf(kind));
    const root = parseHTML(svg).document.querySelector('svg');
    const image = decode(await svgToPng(svg));
    expect([image.width, image.height]).toEqual([
      2 * Number(root?.getAttribute('width')),
      2 * Number(root?.getAttribute('height')),
    ]);
    // The colours of the background, the brand's series, the text and the grid.
    for (const colour of ['ffffff', '2f55ff', '0d1421', 'e4e8ee']) {
      expect(image.colours.get(colour) ?? 0, colour).toBeGreaterThan(10);
    }
    expect((image.colours.get('ffffff') ?? 0) / (image.width * image.height)).toBeLessThan(0.99);
  });
});

test('the fonts of the package draw texts on machines without fonts', () => {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="40"><rect width="200" height="40" fill="#fff"/>
    <text x="5" y="28" font-family="system-ui" font-size="24" font-weight="WEIGHT">Visibility</text></svg>`;
  const inked = [400, 700].map((weight) => {
    const drawing = new Resvg(svg.replace('WEIGHT', String(weight)), {
      font: { fontFiles: [...FONTS], loadSystemFonts: false, defaultFontFamily: 'Public Sans' },
    });
    return decode(drawing.render().asPng()).colours.get('000000') ?? 0;
  });
  expect(inked[0]).toBeGreaterThan(200);
  expect(inked[1]).toBeGreaterThan(inked[0] ?? 0);
});

/** Size of a PNG, and the number of pixels of each colour. */
function decode(png: Uint8Array): { width: number; height: number; colours: ReadonlyMap<string, number> } {
  const bytes = Buffer.from(png);
  expect(bytes.subarray(1, 4).toString('latin1')).toBe('PNG');
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const image = `<image width="${width}" height="${height}" href="data:image/png;base64,${bytes.toString('base64')}"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${image}</svg>`;
  const { pixels } = new Resvg(svg).render();
  const colours = new Map<string, number>();
  for (let at = 0; at < pixels.length; at += 4) {
    const colour = pixels.subarray(at, at + 3).toString('hex');
    colours.set(colour, (colours.get(colour) ?? 0) + 1);
  }
  return { width, height, colours };
}
