import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SightlineError } from '../../base/errors.ts';
import { shownDays } from '../../contract/time.ts';
import type { Brief } from '../../metrics/explain/brief-result.ts';
import { runMetrics } from '../../read/metrics/run-metrics.ts';
import type { MetricsSource } from '../../read/metrics/table-result.ts';
import { loadReportApp } from '../../web/report/report-app.ts';
import { svgToPng } from '../../web/report/svg-to-png.ts';

const WIDTH = 640;

/** Returns the path of the picture of the newest brief of a brand. */
export function briefPicturePath(folder: string, brandId: string): string {
  return join(folder, 'reports', `brief-${brandId}.png`);
}

/** Returns the picture of the newest brief of a brand; null if there is none. */
export function readBriefPicture(folder: string, brandId: string): Buffer | null {
  const path = briefPicturePath(folder, brandId);
  return existsSync(path) ? readFileSync(path) : null;
}

/** Writes the visibility of the days of a brief as a picture. Without the optional package that draws PNG files, it writes nothing. */
export async function writeBriefPicture(
  source: MetricsSource,
  { brandId, brand, from, to }: Brief,
  path: string,
): Promise<void> {
  const asked = { metrics: 'visibility', grain: 'day', brand: brandId, from, to, compare_to: 'none' };
  const { columns, rows } = await runMetrics(source, new URLSearchParams(asked));
  const at = (name: string): number => columns.findIndex((column) => column.name === name);
  const numberAt = (row: readonly unknown[], name: string): number | null => {
    const value = row[at(name)];
    return typeof value === 'number' ? value : null;
  };
  const points = rows.map((row) => ({
    day: String(row[at('period')]),
    value: numberAt(row, 'visibility'),
    lower: numberAt(row, 'visibility_lower'),
    upper: numberAt(row, 'visibility_upper'),
  }));
  const { renderChart } = await loadReportApp();
  const about = `${shownDays(from, to)}, with its 95 % interval`;
  const series = [{ label: brand, points }];
  const svg = renderChart({ kind: 'lines', title: 'Visibility', about, unit: 'ratio', series, width: WIDTH });
  try {
    const picture = await svgToPng(svg);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, picture);
  } catch (thrown) {
    if (!(thrown instanceof SightlineError) || thrown.code !== 'usage') throw thrown;
  }
}
