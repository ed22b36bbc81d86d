import type { Browser, Page } from 'playwright-core';
import type { TableResult } from '../../src/query/metrics/table-result.ts';
import { type AppPage, openApp } from './app-browser.ts';

/** Opens a data page and waits for the data of all blocks. */
export async function openPage(
  browser: Browser,
  url: string,
  options: Parameters<Browser['newPage']>[0] = {},
): Promise<AppPage> {
  const opened = await openApp(browser, url, options);
  await settled(opened.page);
  return opened;
}

/** Resolves when all blocks show data. */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1').waitFor();
  await page.locator('[aria-busy=true], .skeleton').first().waitFor({ state: 'detached' });
}

/** Returns the rows of a table as objects. */
export function recordsOf({ columns, rows }: TableResult): Record<string, unknown>[] {
  return rows.map((row) => Object.fromEntries(row.map((value, index) => [columns[index]?.name ?? '', value])));
}
