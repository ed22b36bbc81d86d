import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { ensureWritableFolder } from '../base/files.ts';
import { catalogue } from '../session/workspace.ts';
import { readLastActivity, readStatus } from '../warehouse/ledger/warehouse-status.ts';
import { readBrandReport, readBrands } from '../web/report/brand-report.ts';
import { drawings } from '../web/report/report-charts.ts';
import { reportPage } from '../web/report/report-page.ts';
import { fileTheme } from '../web/report/theme.ts';
import { chooseBrandIds } from './choose-brands.ts';
import { readNewestReplica } from './status.ts';

/** Options of `reportWorkspace`. */
export interface ReportRequest {
  /** IDs of brands; null for all. */
  readonly brands: readonly string[] | null;
  readonly weeks: number;
  /** Output folder; null for `reports` in the workspace's folder. */
  readonly output: string | null;
}

/** The files of one brand's report. */
export interface WrittenReport {
  readonly brandId: string;
  readonly name: string;
  /** Path of the HTML page. `charts` has the paths of its SVG files. */
  readonly page: string;
  readonly charts: readonly string[];
}

/**
 * Writes an HTML page and SVG charts for each brand, replacing earlier ones.
 *
 * @throws `no_data` if nothing was synced, and `usage` for an unknown brand.
 */
export async function reportWorkspace(
  config: WorkspaceConfig,
  clock: Clock,
  { brands: wanted, weeks, output }: ReportRequest,
): Promise<WrittenReport[]> {
  const folder = resolve(output ?? join(config.folder, 'reports'));
  const read = await readNewestReplica(config, async (query) => {
    const status = await readStatus(query, catalogue, clock.now());
    const reports = [];
    const brands = await readBrands(query);
    const ids = chooseBrandIds(brands, wanted);
    for (const brand of brands)
      if (ids?.includes(brand.id) ?? true) reports.push(await readBrandReport(query, brand, weeks));
    return { status, reports, asOf: await readLastActivity(query) };
  });
  const { status, reports, asOf } = read.value;
  const health = { workspace: config.name, asOf, stale: read.stale, status };
  await ensureWritableFolder(folder);
  const written: WrittenReport[] = [];
  for (const report of reports) {
    // Use the full ID: IDs that were created in the same minute may share their first digits.
    const name = `${slugOf(report.name)}-${report.id}`;
    const page = join(folder, `${name}.html`);
    const charts = drawings(report).map((drawing) => ({
      path: join(folder, name, `${drawing.name}.svg`),
      text: drawing.draw('wide', fileTheme),
    }));
    await mkdir(join(folder, name), { recursive: true });
    for (const { path, text } of charts) await replace(path, text);
    await replace(page, reportPage(report, health));
    written.push({ brandId: report.id, name: report.name, page, charts: charts.map(({ path }) => path) });
  }
  return written;
}

// Reduces a name to letters, digits and hyphens for a file name.
function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return (
    plain
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 40) || 'brand'
  );
}

// Replaces by rename, so a reader sees the complete old file or the complete new one.
async function replace(path: string, text: string): Promise<void> {
  const aside = `${path}.${process.pid}.new`;
  try {
    await writeFile(aside, text);
    await rename(aside, path);
  } finally {
    await rm(aside, { force: true });
  }
}
