import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { ensureWritableFolder } from '../base/files.ts';
import type { ValueOf } from '../contract/operation/json-parts.ts';
import { shownTime } from '../contract/time.ts';
import { upstreamNotes } from '../metrics/calibration/upstream-notes.ts';
import { describeModel } from '../metrics/model/measures.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { briefBrand } from '../read/metrics/brief-brand.ts';
import { runDeclaredQuery } from '../read/metrics/run-declared.ts';
import { runMetrics } from '../read/metrics/run-metrics.ts';
import type { MetricsSource } from '../read/metrics/table-result.ts';
import { openServedReplica, type ServedReplica } from '../read/open-replica.ts';
import { readLastActivity, readStatus, type WarehouseStatus } from '../warehouse/ledger/warehouse-status.ts';
import { loadReportApp } from '../web/report/report-app.ts';
import type { ReportInput } from '../web/report/report-types.ts';
import { svgToPng } from '../web/report/svg-to-png.ts';
import { openNewestReplicaWith } from '../workspace/newest-replica.ts';
import { replicaOptionsOf } from '../workspace/replica-options.ts';
import { chooseBrandIds } from './choose-brands.ts';

/** Longer than for the server's queries, because no client waits for a response. */
const QUERY_TIMEOUT_MS = 600_000;
/** Path of the declared queries, as the pages request them. */
const QUERIES_PATH = '/data/queries/';
const MODEL_PATH = '/data/metrics/model';

/** Options of `reportWorkspace`. */
export interface ReportRequest {
  /** IDs of brands; null for all. */
  readonly brands: readonly string[] | null;
  /** Complete weeks that the charts over time show, at most. */
  readonly weeks: number;
  /** Output folder; null for `reports` in the workspace's folder. */
  readonly output: string | null;
  /** Days of the numbers, both included; null for the 28 days up to the last complete day. */
  readonly range: { readonly from: string; readonly to: string } | null;
  /** Comparison of the numbers: with the days before, with the same days one year earlier, or none. */
  readonly compareTo: 'previous' | 'year' | 'none';
  /** Whether each chart is also written as PNG, which needs the package @resvg/resvg-js. */
  readonly png: boolean;
  /** Address of `sightline serve`, for links to the data pages; null for a report without links. */
  readonly address: string | null;
}

/** The options of a report that are not given. */
export const REPORT_DEFAULTS: ReportRequest = {
  brands: null,
  weeks: 26,
  output: null,
  range: null,
  compareTo: 'previous',
  png: false,
  address: null,
};

/** The files of one brand's report. */
export const writtenReport = z.object({
  brandId: z.string(),
  name: z.string(),
  page: z.string().describe('path of the HTML page'),
  charts: z.array(z.string()).describe('paths of its SVG and PNG files'),
});

/** The files of one brand's report. */
export type WrittenReport = ValueOf<typeof writtenReport>;

/**
 * Writes an HTML page and its charts as files for each brand, replacing earlier ones.
 *
 * @throws `no_data` if nothing was synced, and `usage` for an unknown brand, or without the package that draws PNG files.
 */
export async function reportWorkspace(
  config: WorkspaceConfig,
  clock: Clock,
  given: Partial<ReportRequest> = {},
): Promise<WrittenReport[]> {
  const request = { ...REPORT_DEFAULTS, ...given };
  const folder = resolve(request.output ?? join(config.folder, 'reports'));
  const options = replicaOptionsOf(config, { timeoutMs: QUERY_TIMEOUT_MS });
  const open = (path: string): Promise<ServedReplica> => openServedReplica(path, options);
  const { opened, stale } = await openNewestReplicaWith(config, layoutOf(config.folder), open);
  try {
    const health = await readHealth(opened, config.name, stale, clock.now());
    const brands = [...opened.brands].map(([id, { name }]) => ({ id, name: name ?? id })).sort(byName);
    const ids = chooseBrandIds(brands, request.brands);
    const written: WrittenReport[] = [];
    for (const brand of brands) {
      if (ids !== null && !ids.includes(brand.id)) continue;
      const source = { replica: opened, catalogue: opened.catalogue, nowMs: clock.now(), brands: [brand.id] };
      written.push(await writeReport(source, brand, request, health(brand.id), folder));
    }
    return written;
  } finally {
    await opened.replica.close();
  }
}

interface NamedBrand {
  readonly id: string;
  readonly name: string;
}

async function writeReport(
  source: MetricsSource,
  brand: NamedBrand,
  { weeks, range, compareTo, png, address }: ReportRequest,
  health: ReportInput['health'],
  folder: string,
): Promise<WrittenReport> {
  // First, because drawing takes seconds.
  await ensureWritableFolder(folder);
  const { drawReport } = await loadReportApp();
  const { html, charts } = await drawReport({
    brand: brand.id,
    range,
    compareTo,
    weeks,
    address: address?.replace(/\/+$/, '') ?? '',
    health,
    measures: describeModel().measures,
    read: async (path, parameters) => {
      if (path === MODEL_PATH) return { upstream: upstreamNotes(source.replica.conventions, source.replica.doubts) };
      if (path === briefBrand.path) return briefBrand(source, parameters);
      return path.startsWith(QUERIES_PATH)
        ? runDeclaredQuery(source, path.slice(QUERIES_PATH.length), parameters)
        : runMetrics(source, parameters);
    },
  });
  // Use the full ID: IDs that were created in the same minute may share their first digits.
  const name = `${slugOf(brand.name)}-${brand.id}`;
  const files: { readonly path: string; readonly content: string | Uint8Array }[] = [];
  for (const chart of charts) {
    const path = join(folder, name, chart.name);
    files.push({ path: `${path}.svg`, content: chart.svg });
    if (png) files.push({ path: `${path}.png`, content: await svgToPng(chart.svg) });
  }
  const page = join(folder, `${name}.html`);
  await mkdir(join(folder, name), { recursive: true });
  for (const { path, content } of [...files, { path: page, content: html }]) await replace(path, content);
  // Charts of an earlier report that this one does not have would look current.
  const current = new Set(files.map(({ path }) => path));
  for (const file of await readdir(join(folder, name))) {
    const path = join(folder, name, file);
    if (/\.(svg|png)$/.test(file) && !current.has(path)) await rm(path, { force: true });
  }
  return { brandId: brand.id, name: brand.name, page, charts: files.map(({ path }) => path) };
}

// Returns the rows about the state of the data, for each brand.
async function readHealth(
  { replica, catalogue }: ServedReplica,
  workspace: string,
  stale: boolean,
  nowMs: number,
): Promise<(brandId: string) => ReportInput['health']> {
  const { status, asOf } = await replica.work(async (query) => ({
    status: await readStatus(query, catalogue, nowMs),
    asOf: await readLastActivity(query),
  }));
  const { lastRun, resources, brands, quarantined, drift }: WarehouseStatus = status;
  const gapDays = resources.reduce((sum, resource) => sum + resource.gapDays, 0);
  return (id) => {
    const verified = brands.find(({ brandId }) => brandId === id);
    return [
      ['Workspace', workspace],
      ['Data as of', `${asOf === null ? 'no sync yet' : shownTime(asOf)}${stale ? ', a sync is running' : ''}`],
      ['Last sync', lastRun === null ? 'none' : `${lastRun.status}, started ${shownTime(lastRun.startedAt)}`],
      ['Verified through', verified?.verifiedThrough ?? 'never: run sightline verify'],
      ['Days that differ from upstream', String(verified?.differingDays ?? 0)],
      ['Days never read completely', String(gapDays)],
      ['Items in quarantine', String(quarantined)],
      ['Differences from the documented API', String(drift.length)],
    ];
  };
}

function byName(a: NamedBrand, b: NamedBrand): number {
  return a.name === b.name ? (a.id < b.id ? -1 : 1) : a.name < b.name ? -1 : 1;
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
async function replace(path: string, content: string | Uint8Array): Promise<void> {
  const aside = `${path}.${process.pid}.new`;
  try {
    await writeFile(aside, content);
    await rename(aside, path);
  } finally {
    await rm(aside, { force: true });
  }
}
