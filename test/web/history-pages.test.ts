import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TableResult } from '../../src/query/metrics/table-result.ts';
import { launchBrowser, noBrowser } from '../support/browser.ts';
import { describeWith } from '../support/needs.ts';
import { expectUsable, TWO_LOOKS } from './app-browser.ts';
import { type ExampleIds, PAGE_EXAMPLES } from './matrix/page-examples.ts';
import { openPage, recordsOf, settled } from './open-page.ts';
import { serveStatus, workspaceBefore } from './support.ts';

describeWith(noBrowser)('the pages of workspaces with visits, articles and alerts', () => {
  const workspace = workspaceBefore(40, { prompts: 6 });
  // Other conventions, and nothing in common with the numbers of the first.
  const other = workspaceBefore(40, {
    prompts: 6,
    seed: 2,
    choices: { scale: 'fraction', decimals: 3, timestamps: 'seconds', siteTotals: 'unique', websites: 'cited' },
  });
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  test.each([
    ['percent', workspace],
    ['fraction', other],
  ] as const)('show the numbers of their declared queries and of /v1, with shares as %s', async (_scale, opened) => {
    const server = await serveStatus(opened(), { pages: 'loopback' });
    const table = async (path: string): Promise<Record<string, unknown>[]> =>
      recordsOf((await (await server.ask(path)).json()) as TableResult);
    const brand = String((await table('/data/queries/brands'))[0]?.['brand_id']);
    const { page, trouble } = await openPage(browser, `${server.origin}/traffic?brand=${brand}`);
    const asked = await urlOf(page, 'traffic_sources');
    const sources = await table(`${asked.pathname}${asked.search}`);
    const range = new URLSearchParams({
      from: asked.searchParams.get('from') ?? '',
      to: asked.searchParams.get('to') ?? '',
    });
    const reported = (await (await server.ask(`/v1/brands/${brand}/traffic?${range}`)).json()) as {
      totals: { aiSessions: number; keyEvents: number; revenue: number };
    };
    expect(reported.totals.aiSessions).toBeGreaterThan(0);
    for (const [title, column, total] of [
      ['AI sessions', 'sessions', reported.totals.aiSessions],
      ['Key events', 'key_events', reported.totals.keyEvents],
      [/^Revenue/, 'revenue', reported.totals.revenue],
    ] as const) {
      const tile = page.locator('section.tile').filter({ has: page.getByRole('heading', { name: title }) });
      const shown = Number(await tile.locator('.tile-value').getAttribute('data-value'));
      expect(shown).toBeCloseTo(
        sources.reduce((sum, row) => sum + Number(row[column]), 0),
        6,
      );
      expect(shown).toBeCloseTo(total, 6);
    }

    await page.goto(`${server.origin}/content?brand=${brand}`);
    await settled(page);
    const articles = (await (await server.ask(`/v1/brands/${brand}/articles`)).json()) as { data: { id: string }[] };
    expect(articles.data.length).toBeGreaterThan(0);
    const rows = page.getByRole('region', { name: 'Articles', exact: true }).locator('tbody tr[data-index]');
    expect(await rows.count()).toBe(articles.data.length);
    await rows.first().getByRole('link').first().click();
    await page.getByRole('heading', { name: 'Sources' }).waitFor();
    expect(new URL(page.url()).searchParams.get('article')).not.toBe(null);

    await page.goto(`${server.origin}/alerts?brand=${brand}&range=all`);
    await settled(page);
    const alerts = await table((await urlOf(page, 'alert_list')).href.slice(server.origin.length));
    expect(alerts.length).toBeGreaterThan(0);
    const status = await page.getByRole('region', { name: 'Alerts', exact: true }).getByRole('status').textContent();
    expect(status).toBe(`${alerts.length} rows`);
    // The filter of the table and the chosen type are in the address.
    const found = alerts.filter(
      ({ type, headline }) => type === 'visibility_drop' && String(headline).includes('lost'),
    );
    expect(found.length).toBeGreaterThan(0);
    await page.getByRole('searchbox', { name: 'Filter rows of Alerts' }).fill('LOST');
    await page.getByRole('combobox', { name: 'Type', exact: true }).selectOption('visibility_drop');
    await page.waitForURL(/find=LOST.*type=visibility_drop/);
    await page.reload();
    await settled(page);
    expect(await page.getByRole('searchbox', { name: 'Filter rows of Alerts' }).inputValue()).toBe('LOST');
    expect(await page.getByRole('region', { name: 'Rows of Alerts' }).locator('tbody tr[data-index]').count()).toBe(
      found.length,
    );
    await page.getByRole('region', { name: 'Alerts', exact: true }).locator('tbody a').first().click();
    await page.getByRole('region', { name: 'Up to the alert', exact: true }).locator('tbody tr').first().waitFor();
    const compared = (await urlOf(page, 'compare_to=previous')).href.slice(server.origin.length);
    const own = (await table(compared)).find((row) => row['competitor_id'] === null);
    const cells = page.locator('td[data-value]');
    const values = await cells.evaluateAll((all) => all.map((cell) => cell.getAttribute('data-value')));
    expect(values).toContain(String(own?.['visibility']));
    expect(trouble).toEqual([]);
    await page.close();
  });

  test.each([
    ['percent', workspace],
    ['fraction', other],
  ] as const)('show in cells and tiles only numbers of their requests, with shares as %s', async (_scale, opened) => {
    const server = await serveStatus(opened(), { pages: 'loopback' });
    const table = async (path: string): Promise<Record<string, unknown>[]> =>
      recordsOf((await (await server.ask(path)).json()) as TableResult);
    const ids = await exampleIds(table);
    const page = await browser.newPage();
    const requested: Promise<number[]>[] = [];
    page.on('response', (response) => {
      if (/\/data\/(queries|metrics)/.test(response.url())) requested.push(response.json().then(numbersIn, () => []));
    });
    let shown = 0;
    // Differences of two sides are compared in test/web/rival-pages.test.ts, and tiles of visits, which are sums, above.
    const addresses = Object.entries(PAGE_EXAMPLES)
      .filter(([title]) => title !== 'Compare')
      .flatMap(([, examples]) => examples.map(({ path }) => path(ids)));
    for (const address of addresses) {
      // A new document requests all data again.
      await page.goto('about:blank');
      requested.length = 0;
      await page.goto(`${server.origin}${address}`);
      await page.locator('h1').waitFor();
      await page.locator('[aria-busy=true], .skeleton').first().waitFor({ state: 'detached' });
      const given = new Set((await Promise.all(requested)).flat());
      if (address === '/traffic') {
        for (const row of await table((await urlOf(page, 'traffic_sources')).href.slice(server.origin.length)))
          given.add(Number(row['sessions']) - Number(row['sessions_before']));
      }
      const values = (await page
        .locator(address === '/traffic' ? 'main td[data-value]' : 'main [data-value]:not([data-value=""])')
        .evaluateAll((all) => all.map((each) => Number(each.getAttribute('data-value'))))) as number[];
      shown += values.length;
      expect(
        values.filter((value) => !given.has(value)),
        address,
      ).toEqual([]);
    }
    expect(shown).toBeGreaterThan(500);
    await page.close();
  });

  test.each(TWO_LOOKS)('are accessible and have no horizontal scroll at %i pixels, %s', async (width, colorScheme) => {
    const server = await serveStatus(workspace(), { pages: 'loopback' });
    const paths = ['/traffic', '/content', '/content?view=actions', '/content?view=forum', '/alerts'];
    for (const path of paths) {
      const options = { viewport: { width, height: 900 }, colorScheme };
      const { page, trouble } = await openPage(browser, `${server.origin}${path}`, options);
      await expectUsable(page, path);
      expect(trouble).toEqual([]);
      await page.close();
    }
  });
});

/** Values of the first brand that example addresses need. */
async function exampleIds(table: (path: string) => Promise<Record<string, unknown>[]>): Promise<ExampleIds> {
  const brand = String((await table('/data/queries/brands'))[0]?.['brand_id']);
  const [response] = await table(`/data/queries/response_list?brand=${brand}&limit=1`);
  const [domain] = await table(`/data/metrics?metrics=citations&group_by=domain&brand=${brand}&limit=1`);
  const [article] = await table(`/data/queries/article_list?brand=${brand}`);
  const filters = await table(`/data/queries/filters?brand=${brand}`);
  return {
    prompt: String(response?.['prompt_id']),
    response: String(response?.['response_id']),
    competitor: String(filters.find(({ filter }) => filter === 'competitor')?.['id']),
    domain: String(domain?.['domain']),
    article: String(article?.['article_id']),
  };
}

/** All numbers of a JSON value. */
function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : [];
}

/** The last request of the page with a text in its address. */
async function urlOf(page: Page, text: string): Promise<URL> {
  const names = (await page.evaluate(`performance.getEntriesByType('resource').map(({ name }) => name)`)) as string[];
  const found = names.findLast((name) => name.includes(text));
  if (found === undefined) throw new Error(`no request has ${text}`);
  return new URL(found);
}
