import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { openContext } from '../support/browser.ts';
import { faultsInLooks, inTime, LOOKS, type Look, SETTLED } from './page-faults.ts';

interface PageOptions extends BrowserContextOptions {
  /** Console messages that the page cannot prevent: Chromium reports each response with an error status. */
  readonly allowed?: RegExp;
}

/**
 * Opens a page in a context of its own until the test ends. The test fails if there was a console message, an error or a request to
 * another server.
 */
export async function openPage(url: string, { allowed, ...options }: PageOptions = {}): Promise<Page> {
  const context = await openContext({ reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const trouble: string[] = [];
  page.on('console', (message) => trouble.push(message.text()));
  page.on('pageerror', (error) => trouble.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL('/', url).href) && !request.url().startsWith('blob:'))
      trouble.push(request.url());
  });
  onTestFinished(() => {
    expect(trouble.filter((text) => allowed?.test(text) !== true)).toEqual([]);
  });
  await page.goto(url);
  return page;
}

/** Opens a data page and waits for the data of all blocks. */
export async function openDataPage(url: string, options: PageOptions = {}): Promise<Page> {
  const page = await openPage(url, options);
  await settled(page);
  return page;
}

/** Resolves when all blocks show data. */
export async function settled(page: Page): Promise<void> {
  expect(await inTime('wait for data', page.evaluate(SETTLED))).toBe(true);
}

/** Changes the address as a link does, without loading the document again. */
export function follow(page: Page, path: string): Promise<void> {
  const script = `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`;
  return inTime(`go to ${path}`, page.evaluate(script));
}

/** Opens a data page as after a link, without loading the document again, and waits for its title and data. */
export async function visit(page: Page, path: string, title: string): Promise<void> {
  await follow(page, path);
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
  await settled(page);
}

/** Checks accessibility, and that the page does not scroll horizontally. `about` says which page or view it is. */
export async function expectUsable(page: Page, about = '', looks: readonly Look[] = LOOKS): Promise<void> {
  expect(await faultsInLooks(page, looks), about).toEqual([]);
}

/** A drawn row of a table. */
export interface ShownRow {
  /** The first link or emphasised text, or the first cell. */
  readonly text: string;
  /** Exact numbers by the header of their column. */
  readonly cells: Readonly<Record<string, number | null>>;
}

/** Returns the drawn rows of the table with a caption. */
export async function rowsOf(page: Page, caption: string): Promise<ShownRow[]> {
  const box = page.getByRole('region', { name: `Rows of ${caption}`, exact: true });
  const rows = box.locator('tbody tr:not(.space)');
  await rows.first().waitFor();
  const headers = (await box.locator('thead th').allInnerTexts()).map((text) => text.replace(/ [↑↓]$/, '').trim());
  const drawn = await rows.evaluateAll((all) =>
    all.map((row) => ({
      text: (row.querySelector('a, strong') ?? row.children[0])?.textContent ?? '',
      values: [...row.children].map((cell) => cell.getAttribute('data-value')),
    })),
  );
  return drawn.map(({ text, values }) => ({
    text,
    cells: Object.fromEntries(values.map((value, index) => [headers[index], value === null ? null : Number(value)])),
  }));
}

/** Returns the exact number of a tile; null if it shows none. */
export async function tileOf(page: Page, title: string | RegExp): Promise<number | null> {
  const tile: Locator = page.locator('section.tile').filter({ has: page.getByRole('heading', { name: title }) });
  const value = await tile.locator('.tile-value').getAttribute('data-value');
  return value === null || value === '' ? null : Number(value);
}

/** Returns the last request of the page with a text in its address. */
export async function requestOf(page: Page, text: string): Promise<URL> {
  const names = (await page.evaluate(`performance.getEntriesByType('resource').map(({ name }) => name)`)) as string[];
  const found = names.findLast((name) => name.includes(text));
  if (found === undefined) throw new Error(`no request has ${text}`);
  return new URL(found);
}

/** Returns the days of the last request with a text in its address, as parameters; by default of one that compares periods. */
export async function daysOf(
  page: Page,
  // Moving averages and the count of new alerts have days of their own.
  text = 'compare_to=previous&from=',
): Promise<{ from: string; to: string; search: string }> {
  const { searchParams } = await requestOf(page, text);
  const [from, to] = [searchParams.get('from') ?? '', searchParams.get('to') ?? ''];
  return { from, to, search: `from=${from}&to=${to}` };
}
