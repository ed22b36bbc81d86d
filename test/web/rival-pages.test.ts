import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Choices } from '../../schemas/fixtures/choices.ts';
import type { TableResult } from '../../src/query/metrics/table-result.ts';
import { browserPath, launchBrowser } from '../support/browser.ts';
import { sampleOf } from '../support/counts.ts';
import { expectUsable, TWO_LOOKS } from './app-browser.ts';
import { openPage, recordsOf, settled } from './open-page.ts';
import { type StatusServer, serveStatus, workspaceBefore } from './support.ts';

type Row = Record<string, unknown>;
type Convention = Pick<Choices, 'scale' | 'decimals'>;

const conventions: readonly Convention[] = [
  { scale: 'percent', decimals: 1 },
  { scale: 'fraction', decimals: 3 },
];

const MEASURES = ['visibility', 'share_of_voice', 'position', 'sentiment', 'owned_citations'] as const;

/** Paths of the pages and of their views. DOMAIN and COMPETITOR are replaced. */
const PATHS = [
  '/competitors',
  '/competitors?competitor=COMPETITOR',
  '/sources',
  '/sources?view=pages',
  '/sources?view=gaps',
  '/sources?domain=DOMAIN',
  '/topics',
  '/topics?view=branded',
  '/compare',
  '/compare?of=period',
];

describe.skipIf(browserPath === undefined).each(sampleOf(conventions, 1))(
  'competitors, sources, topics and comparisons with shares as $scale',
  (of) => {
    const workspace = workspaceBefore(60, { prompts: 8, choices: of });
    let browser: Browser;
    beforeAll(async () => {
      browser = await launchBrowser();
    });
    afterAll(() => browser.close());

    const factor = of.scale === 'percent' ? 100 : 1;
    const expectRounded = (shown: number | null, reported: unknown, scale: number): void => {
      if (shown === null || reported === null) expect(shown).toBe(reported);
      else
        expect(Math.abs(shown * scale - Number(reported))).toBeLessThanOrEqual(0.5 * 10 ** -Number(of.decimals) + 1e-9);
    };

    async function serve(): Promise<{ server: StatusServer; brand: string; ask: (path: string) => Promise<Row[]> }> {
      const server = await serveStatus(workspace(), { pages: 'loopback' });
      const brands = (await (await server.ask('/v1/brands')).json()) as { data: { id: string }[] };
      const ask = async (path: string): Promise<Row[]> =>
        recordsOf((await (await server.ask(path)).json()) as TableResult);
      return { server, brand: String(brands.data[0]?.id), ask };
    }

    test('the table of competitors has the numbers of /v1 and of the metrics layer', async () => {
      const { server, brand, ask } = await serve();
      const { page, trouble } = await openPage(browser, `${server.origin}/competitors?range=7d`);
      const range = await rangeOf(page);
      const names = MEASURES.slice(0, 4);
      const rows = await ask(`/data/metrics?metrics=${names.join()}&group_by=entity&brand=${brand}&${range}`);
      const reported = (await (await server.ask(`/v1/brands/${brand}/metrics?${range}`)).json()) as {
        data: Row[];
      };
      const table = page.getByRole('region', { name: 'Brand and competitors', exact: true });
      const shown = await cellsOf(table, 'Name');
      expect(shown.size).toBe(rows.length);
      for (const row of rows) {
        const cells = shown.get(String(row['entity'])) ?? new Map();
        const upstream = reported.data.find(({ competitorId }) => (competitorId ?? null) === row['competitor_id']);
        for (const [name, title] of [
          ['visibility', 'Visibility'],
          ['share_of_voice', 'Share of voice'],
          ['position', 'Position'],
          ['sentiment', 'Sentiment'],
        ] as const) {
          expect(cells.get(title)).toBe(row[name]);
          expect(cells.get(`Δ ${title}`)).toBe(row[`${name}_change`]);
        }
        expectRounded(cells.get('Visibility') ?? null, upstream?.['visibility'], factor);
        expectRounded(cells.get('Share of voice') ?? null, upstream?.['shareOfVoice'], factor);
      }
      // A competitor's name leads to its page. The prompts on it equal the rows of the declared query.
      const rival = rows.find((row) => row['competitor_id'] !== null && row['visibility'] !== 0);
      await table.getByRole('link', { name: String(rival?.['entity']) }).click();
      await page.waitForURL(/competitor=/);
      await settled(page);
      await page.getByLabel('Prompts', { exact: true }).last().selectOption('all');
      const prompts = await ask(
        `/data/queries/competitor_prompts?brand=${brand}&${range}&competitor_id=${rival?.['competitor_id']}`,
      );
      const leads = await page
        .getByRole('region', { name: 'Prompts where it wins', exact: true })
        .locator('tbody tr')
        .evaluateAll((all) => all.map((row) => Number(row.children[3]?.getAttribute('data-value'))));
      expect(leads).toEqual(prompts.map((row) => row['lead']));
      expect(trouble).toEqual([]);
      await page.close();
    });

    test('the table of domains and the groups have the numbers of /v1', async () => {
      const { server, brand } = await serve();
      const { page, trouble } = await openPage(browser, `${server.origin}/sources?range=7d`);
      const range = await rangeOf(page);
      const domains = (await (await server.ask(`/v1/brands/${brand}/sources/domains?limit=5&${range}`)).json()) as {
        data: Row[];
      };
      expect(domains.data.length).toBeGreaterThan(1);
      const shown = await cellsOf(page.getByRole('region', { name: 'Cited domains', exact: true }), 'Domain');
      for (const { domain, citations, responses } of domains.data) {
        expect(shown.get(String(domain))?.get('Citations')).toBe(citations);
        expect(shown.get(String(domain))?.get('Responses')).toBe(responses);
      }
      await page.goto(`${server.origin}/topics?range=7d`);
      await settled(page);
      const groups = (await (await server.ask(`/v1/brands/${brand}/metrics/groups?${range}`)).json()) as {
        data: Row[];
      };
      const topics = await cellsOf(page.getByRole('region', { name: 'Topics', exact: true }), 'Topic');
      const named = groups.data.filter(({ groupId, responses }) => groupId !== null && responses !== 0);
      expect(named.length).toBeGreaterThan(1);
      for (const group of named) {
        const cells = topics.get(String(group['name']));
        expect(cells?.get('Responses')).toBe(group['responses']);
        expectRounded(cells?.get('Visibility') ?? null, group['visibility'], factor);
        expectRounded(cells?.get('Share of voice') ?? null, group['shareOfVoice'], factor);
      }
      expect(trouble).toEqual([]);
      await page.close();
    });

    test('a comparison shows the differences of two engines, keeps its sides in the address and swaps them', async () => {
      const { server, brand, ask } = await serve();
      const { page, trouble } = await openPage(browser, `${server.origin}/compare`);
      const range = await rangeOf(page);
      const [first, second] = (await ask(`/data/queries/filters?brand=${brand}`))
        .filter((row) => row['filter'] === 'engine')
        .map((row) => String(row['id']));
      const sides = await Promise.all(
        [first, second].map(async (engine) => {
          const path = `/data/metrics?metrics=${MEASURES.join()}&brand=${brand}&engine=${engine}&compare_to=none&${range}`;
          return (await ask(path))[0] ?? {};
        }),
      );
      const table = page.getByRole('region', { name: 'Measures', exact: true });
      const column = async (index: number): Promise<(number | null)[]> => {
        const cells = table.locator(`tbody tr > :nth-child(${index + 1})`);
        const texts = await cells.evaluateAll((all) => all.map((cell) => cell.getAttribute('data-value')));
        return texts.map((text) => (text === null ? null : Number(text)));
      };
      const differences = (): Promise<(number | null)[]> => column(3);
      for (const [index, side] of sides.entries())
        expect(await column(index + 1)).toEqual(MEASURES.map((name) => side[name] ?? null));
      const expected = MEASURES.map((name) => {
        const [a, b] = sides.map((side) => side[name] ?? null);
        return a === null || b === null ? null : Number(a) - Number(b);
      });
      expect(expected[0]).not.toBe(0);
      expect(await differences()).toEqual(expected);
      await page.getByRole('button', { name: 'Swap' }).click();
      await page.waitForURL((url) => url.searchParams.get('a') === second && url.searchParams.get('b') === first);
      await settled(page);
      const swapped = expected.map((value) => (value === null ? null : 0 - value));
      expect(await differences()).toEqual(swapped);
      await page.reload();
      await settled(page);
      expect(await differences()).toEqual(swapped);
      expect(trouble).toEqual([]);
      await page.close();
    });

    test.each(TWO_LOOKS)(
      'all views are accessible and have no horizontal scroll at %i pixels, %s',
      async (width, colorScheme) => {
        const { server, brand, ask } = await serve();
        const rivals = (await ask(`/data/queries/filters?brand=${brand}`)).filter(
          (row) => row['filter'] === 'competitor',
        );
        const [domain] = await ask(
          `/data/metrics?metrics=citations&group_by=domain&brand=${brand}&compare_to=none&limit=1`,
        );
        for (const path of PATHS) {
          const url = path
            .replace('COMPETITOR', String(rivals[0]?.['id']))
            .replace('DOMAIN', encodeURIComponent(String(domain?.['domain'])));
          const options = { viewport: { width, height: 900 }, colorScheme };
          const { page, trouble } = await openPage(browser, `${server.origin}${url}`, options);
          await expectUsable(page);
          expect(trouble, url).toEqual([]);
          await page.close();
        }
      },
    );
  },
);

/** Returns the numbers of a table by the text of a column and by the headers. */
async function cellsOf(region: Locator, by: string): Promise<Map<string, Map<string, number | null>>> {
  const headers = await region.locator('thead th button').allInnerTexts();
  const names = headers.map((text) => text.replace(/ [↑↓]$/, '').trim());
  const rows = await region.locator('tbody tr:not(.space)').evaluateAll((all) =>
    all.map((row) =>
      [...row.children].map((cell) => ({
        text: cell.textContent ?? '',
        value: cell.getAttribute('data-value'),
      })),
    ),
  );
  const key = names.indexOf(by);
  return new Map(
    rows.map((cells) => [
      cells[key]?.text ?? '',
      new Map(
        cells.map(({ value }, index) => [names[index] ?? '', value === null || value === '' ? null : Number(value)]),
      ),
    ]),
  );
}

// The days of the page, from its requests.
async function rangeOf(page: Page): Promise<string> {
  const urls = (await page.evaluate(
    `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('from='))`,
  )) as string[];
  const search = new URL(urls.at(-1) ?? '').searchParams;
  return `from=${search.get('from')}&to=${search.get('to')}`;
}
