import { readFile } from 'node:fs/promises';
import { parseHTML } from 'linkedom';
import { systemClock } from '../../src/base/clock.ts';
import type { WorkspaceConfig } from '../../src/base/config/config.ts';
import { type ReportRequest, reportWorkspace, type WrittenReport } from '../../src/operations/write-report.ts';

/** A parsed report. */
export type ReportDocument = Awaited<ReturnType<typeof readReport>>;

/** Writes the reports of a folder with a replica, and returns one for each brand, ordered by name. */
export async function writeReports(
  config: Pick<WorkspaceConfig, 'name' | 'folder'> & Partial<WorkspaceConfig>,
  request: Partial<ReportRequest> = {},
): Promise<ReportDocument[]> {
  const complete = { domains: {}, conventions: {}, ...config } as WorkspaceConfig;
  const written = await reportWorkspace(complete, systemClock, request);
  return Promise.all(written.map(readReport));
}

/** Parses the page of a written report. */
export async function readReport(written: WrittenReport) {
  const text = await readFile(written.page, 'utf8');
  const { document } = parseHTML(text);
  const blockOf = (title: string) =>
    [...document.querySelectorAll('section')].find((one) => one.getAttribute('aria-label') === title) ?? null;
  return {
    written,
    text,
    /** Text of the block with this title; null if the report has none. */
    block: (title: string) => blockOf(title)?.textContent ?? null,
    /** The cells of the rows of a block's table: texts, or exact numbers. */
    rows: (title: string) =>
      [...(blockOf(title)?.querySelectorAll('.data-table tbody tr') ?? [])].map((row) =>
        [...row.querySelectorAll('td')].map((cell) => cell.getAttribute('data-value') ?? cell.textContent ?? ''),
      ),
    /** The exact number of a tile; null without one. */
    tile: (title: string) => {
      const value = blockOf(title)?.querySelector('.tile-value')?.getAttribute('data-value') ?? '';
      return value === '' ? null : Number(value);
    },
  };
}
