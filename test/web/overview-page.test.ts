import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Choices } from '../../schemas/fixtures/choices.ts';
import type { TableResult } from '../../src/query/metrics/table-result.ts';
import { browserPath, launchBrowser } from '../support/browser.ts';
import { expectUsable, LOOKS } from './app-browser.ts';
import { openPage, recordsOf, settled as settledPage } from './open-page.ts';
import { type StatusServer, serveStatus, workspaceBefore } from './support.ts';

type Convention = Pick<Choices, 'scale' | 'decimals' | 'sentiment' | 'websites'>;

const conventions: readonly Convention[] = [
  { scale: 'percent', decimals: 1, sentiment: { positive: 100, neutral: 50, negative: 0 }, websites: 'cited' },
  { scale: 'fraction', decimals: 3, sentiment: { positive: 1, neutral: 0, negative: -1 }, websites: 'none' },
];

interface MetricRow {
  readonly competitorId: string | null;
  readonly visibility: number;
  readonly shareOfVoice: number;
  readonly avgPosition: number | null;
  readonly sentiment: number | null;
}

/** Column of /v1 of each tile; own citations are not in /v1. */
const TILES = [
  ['Visibility', 'visibility', 'visibility'],
  ['Share of voice', 'share_of_voice', 'shareOfVoice'],
  ['Position', 'position', 'avgPosition'],
  ['Sentiment', 'sentiment', 'sentiment'],
  ['Own citations', 'owned_citations', null],
] as const;

describe.skipIf(browserPath === undefined).each(conventions)(
  'the overview of a workspace with shares as $scale',
  (of) => {
    const workspace = workspaceBefore(70, { prompts: 8, choices: of });
    let browser: Browser;
    beforeAll(async () => {
      browser = await launchBrowser();
    });
    afterAll(() => browser.close());

    const factor = of.scale === 'percent' ? 100 : 1;
    // The page does not round like the API, which rounds halves away from zero.
    const isRounded = (exact: number | null, reported: number | null, scale: number): boolean =>
      exact === null || reported === null
        ? exact === reported
        : Math.abs(exact * scale - reported) <= 0.5 * 10 ** -Number(of.decimals) + 1e-9;

    async function expectNumbers(page: Page, server: StatusServer, range: { from: string; to: string }): Promise<void> {
      const brands = (await (await server.ask('/v1/brands')).json()) as { data: { id: string }[] };
      const brand = brands.data[0]?.id ?? '';
      const search = new URLSearchParams(range);
      const reported = (await (await server.ask(`/v1/brands/${brand}/metrics?${search}`)).json()) as {
        data: MetricRow[];
      };
      const names = TILES.map(([, measure]) => measure).join();
      const model = recordsOf(
        (await (await server.ask(`/data/metrics?metrics=${names}&brand=${brand}&${search}`)).json()) as TableResult,
      )[0];
      const own = reported.data.find(({ competitorId }) => competitorId === null);
      for (const [title, measure, column] of TILES) {
        const tile = page.getByRole('region', { name: title, exact: true });
        const shown = numberOf(await tile.locator('.tile-value').getAttribute('data-value'));
        expect(shown, title).toBe(model?.[measure]);
        if (column === null || own === undefined) continue;
        const scale = measure === 'visibility' || measure === 'share_of_voice' ? factor : 1;
        expect(isRounded(shown, own[column], scale), `${title}: ${shown} ${own[column]}`).toBe(true);
      }
      const rows = page.getByRole('region', { name: 'Brand and competitors', exact: true }).locator('tbody tr');
      const shares = await rows.evaluateAll((all) =>
        all.map((row) => row.children[1]?.getAttribute('data-value') ?? ''),
      );
      const expected = reported.data.map(({ shareOfVoice }) => shareOfVoice).sort((a, b) => b - a);
      expect(shares).toHaveLength(expected.length);
      for (const [index, share] of shares.entries()) {
        expect(isRounded(Number(share), expected[index] ?? null, factor), `${shares} ${expected}`).toBe(true);
      }
    }

    test('shows the numbers of /v1 and of the metrics layer, for the range and the filters of its address', async () => {
      const server = await serveStatus(workspace(), { pages: 'loopback' });
      const { page, trouble } = await open(browser, server.origin);
      const range = await rangeOf(page);
      await expectNumbers(page, server, range);
      await page.getByLabel('Range', { exact: true }).selectOption('7d');
      await page.waitForURL(/range=7d/);
      await settled(page);
      const week = await rangeOf(page);
      expect(week.to).toBe(range.to);
      expect(Date.parse(week.to) - Date.parse(week.from)).toBe(6 * 86_400_000);
      await expectNumbers(page, server, week);
      await page.goBack();
      await settled(page);
      expect(await rangeOf(page)).toEqual(range);
      // The SQL of a block returns its rows.
      await page.getByRole('button', { name: 'SQL of Visibility by engine' }).click();
      expect(await page.getByRole('dialog').locator('code').textContent()).toMatch(/^WITH /);
      await page.keyboard.press('Escape');
      const chart = page.getByRole('group', { name: /^Visibility by engine/ });
      await chart.focus();
      await page.keyboard.press('End');
      expect(await chart.getByRole('status').textContent()).toMatch(/n = \d/);
      expect(trouble).toEqual([]);
      await page.close();
    });

    test('has a link to the details and a SQL button in every tile and block, and a link in every row', async () => {
      const server = await serveStatus(workspace(), { pages: 'loopback' });
      const { page, trouble } = await open(browser, server.origin);
      const blocks = page.locator('main section.tile, main section.panel');
      const titles = await blocks.evaluateAll((all) => all.map((block) => block.getAttribute('aria-label') ?? ''));
      expect(titles.length).toBe(TILES.length + 7);
      const targets = new Set<string>();
      for (const title of titles) {
        const block = page.getByRole('region', { name: title, exact: true });
        expect(await block.getByRole('button', { name: `SQL of ${title}`, exact: true }).count(), title).toBe(1);
        const heading = block.locator('h2 a, .panel-tools > a');
        expect(await heading.count(), title).toBe(1);
        targets.add((await heading.getAttribute('href')) ?? '');
        const items = block.locator('.data-table tbody tr:not(.space), .alerts > li, .events > li:has(span)');
        expect(await items.count(), title).toBe(await items.filter({ has: page.locator('a[href^="/"]') }).count());
        const first = items.locator('a[href^="/"]').first();
        if ((await first.count()) > 0) targets.add((await first.getAttribute('href')) ?? '');
      }
      expect(targets.size).toBeGreaterThan(7);
      for (const target of targets) {
        await page.goto(new URL(target, server.origin).href);
        await settledPage(page);
        expect(new URL(page.url()).pathname, target).not.toBe('/');
        expect(await page.locator('h1').textContent(), target).not.toMatch(/not found/i);
        expect(await page.locator('[role=alert]').count(), target).toBe(0);
      }
      expect(trouble).toEqual([]);
      await page.close();
    });

    test.each(LOOKS)('is accessible and has no horizontal scroll at %i pixels, %s', async (width, colorScheme) => {
      const server = await serveStatus(workspace(), { pages: 'loopback' });
      const { page, trouble } = await open(browser, server.origin, { viewport: { width, height: 900 }, colorScheme });
      await expectUsable(page);
      expect(trouble).toEqual([]);
      await page.close();
    });
  },
);

/** Opens the overview. */
async function open(browser: Browser, origin: string, options: Parameters<Browser['newPage']>[0] = {}) {
  const opened = await openPage(browser, origin, options);
  await settled(opened.page);
  return opened;
}

/** Resolves when all blocks show the data of the address. */
async function settled(page: Page): Promise<void> {
  await page.locator('.tile-value').nth(4).waitFor();
  await page.locator('[aria-busy=true], .skeleton').first().waitFor({ state: 'detached' });
}

// The shown range as days, from the requests of the page.
async function rangeOf(page: Page): Promise<{ from: string; to: string }> {
  const urls = (await page.evaluate(
    `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('group_by=entity'))`,
  )) as string[];
  const shown = await page.locator('.page-head p').textContent();
  const found = urls
    .map((url) => new URL(url).searchParams)
    .map((search) => ({ from: search.get('from') ?? '', to: search.get('to') ?? '' }))
    .find(({ from, to }) => shown === `${dayText(from)} – ${dayText(to)}`);
  if (found === undefined) throw new Error(`no request has the range ${shown}`);
  return found;
}

function dayText(day: string): string {
  return new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' }).format(Date.parse(day));
}

function numberOf(text: string | null): number | null {
  return text === null || text === '' ? null : Number(text);
}
