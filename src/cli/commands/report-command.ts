import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { systemClock } from '../../base/clock.ts';
import { EXIT } from '../../base/errors.ts';
import { reportWorkspace, type WrittenReport } from '../../operations/write-report.ts';
import { readConfig, toInteger, type WorkspaceFlags } from '../context.ts';
import { applyUserUmask, plural, printData, say } from '../output/output.ts';
import { listOf } from '../program/flags.ts';

/** Longest period of a report, in weeks. */
const WEEKS_MAX = 260;

/** Flags of `report`. */
export interface ReportFlags extends WorkspaceFlags {
  readonly brand?: readonly string[];
  readonly weeks: string;
  readonly output?: string;
}

/** Runs `sightline report` and returns its exit code. */
export async function report(flags: ReportFlags): Promise<number> {
  const weeks = toInteger('--weeks', flags.weeks, 1, WEEKS_MAX);
  const request = { brands: listOf('--brand', flags.brand), weeks, output: flags.output ?? null };
  const reports = await reportWorkspace(readConfig(flags), systemClock, request);
  if (flags.output !== undefined) {
    const files = reports.flatMap(({ page, charts }) => [page, ...charts]);
    await applyUserUmask([...new Set([flags.output, ...files.map((file) => dirname(file)), ...files])]);
  }
  const json = flags.json === true;
  const shown = renderReports(reports, json);
  if (json) printData(JSON.stringify(shown));
  return EXIT.done;
}

/** Prints a summary of the written reports and returns their JSON form. With `json` it does not print their paths. */
export function renderReports(reports: readonly WrittenReport[], json: boolean) {
  if (!json) for (const { page } of reports) printData(page);
  const charts = reports.reduce((sum, { charts: files }) => sum + files.length, 0);
  say(`${plural(reports.length, 'report')} with ${plural(charts, 'chart')}`);
  const [first] = reports;
  if (first !== undefined && !json) say(`open ${pathToFileURL(first.page).href}`);
  return { reports };
}
