import { readFileSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { replaceFile } from '../../base/files.ts';
import { addDays, shownDays } from '../../contract/time.ts';
import type { Brief } from '../../metrics/explain/brief-result.ts';
import { runMetrics } from '../../read/metrics/run-metrics.ts';
import type { MetricsSource } from '../../read/metrics/table-result.ts';
import { loadReportApp } from '../../web/report/report-app.ts';
import { svgToPng } from '../../web/report/svg-to-png.ts';

const WIDTH = 640;

/** Pictures of earlier briefs are kept for this number of days, because a message may wait. */
const KEPT_DAYS = 28;

// A message that waits is sent with the picture of its own period.
function picturePath(folder: string, brandId: string, to: string): string {
  return join(folder, 'reports', `brief-${brandId}-${to}.png`);
}

/** Returns the picture of the brief of a brand up to a day; null if there is none. */
export function readBriefPicture(folder: string, brandId: string, to: string): Buffer | null {
  try {
    return readFileSync(picturePath(folder, brandId, to));
  } catch {
    return null;
  }
}

/**
 * Writes the visibility of the days of a brief as a picture, and removes old ones.
 *
 * @throws `usage` without the optional package that draws PNG files
 */
export async function writeBriefPicture(
  source: MetricsSource,
  { brandId, brand, from, to }: Brief,
  folder: string,
): Promise<void> {
  const parameters = { metrics: 'visibility', grain: 'day', brand: brandId, from, to, compare_to: 'none' };
  const { columns, rows } = await runMetrics(source, new URLSearchParams(parameters));
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
  const path = picturePath(folder, brandId, to);
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, await svgToPng(svg));
  const oldest = basename(picturePath(folder, brandId, addDays(to, -KEPT_DAYS)));
  const old = (await readdir(dirname(path))).filter((name) => name.startsWith(`brief-${brandId}-`) && name < oldest);
  await Promise.all(old.map((name) => rm(join(dirname(path), name), { force: true })));
}
