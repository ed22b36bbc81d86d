import { readFile } from 'node:fs/promises';
import { parseHTML } from 'linkedom';
import { systemClock } from '../../src/base/clock.ts';
import type { WorkspaceConfig } from '../../src/base/config/config.ts';
import { type ReportRequest, reportWorkspace, type WrittenReport } from '../../src/operations/write-report.ts';

/** A parsed report. */
export interface ReportDocument {
  readonly written: WrittenReport;
  readonly text: string;
  /** Text of the block with this title; null if the report has none. */
  block(title: string): string | null;
  /** The cells of the rows of a block's table: texts, or exact numbers. */
  rows(title: string): string[][];
  /** The exact number of a tile; null without one. */
  tile(title: string): number | null;
}

/** Writes the reports of a folder with a replica, and returns one for each brand, ordered by name. */
export async function writeReports(
  config: Pick<WorkspaceConfig, 'name' | 'folder'> & Partial<WorkspaceConfig>,
  request: Partial<ReportRequest> = {},
): Promise<ReportDocument[]> {
  const complete = { remote: { kind: 'local' }, conventions: {}, ...config } as WorkspaceConfig;
  const written = await reportWorkspace(complete, systemClock, request);
  return Promise.all(written.map(readReport));
}

/** Parses the page of a written report. */
export async function readReport(written: WrittenReport): Promise<ReportDocument> {
  const text = await readFile(written.page, 'utf8');
  const { document } = parseHTML(text);
  const blockOf = (title: string) =>
    [...document.querySelectorAll('section')].find((one) => one.getAttribute('aria-label') === title) ?? null;
  return {
    written,
    text,
    block: (title) => blockOf(title)?.textContent ?? null,
    rows: (title) =>
      [...(blockOf(title)?.querySelectorAll('.data-table tbody tr') ?? [])].map((row) =>
        [...row.querySelectorAll('td')].map((cell) => cell.getAttribute('data-value') ?? cell.textContent ?? ''),
      ),
    tile: (title) => {
      const value = blockOf(title)?.querySelector('.tile-value')?.getAttribute('data-value') ?? '';
      return value === '' ? null : Number(value);
    },
  };
}
