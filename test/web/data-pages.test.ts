import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { noBrowser } from '../support/browser.ts';
import { describeWith } from '../support/needs.ts';
import { daysOf, openDataPage, requestOf, rowsOf, settled, tileOf, visit } from './open-page.ts';
import { serverBefore, serveStatus, worldBefore } from './support.ts';

type Row = Record<string, unknown>;

const MEASURES = ['visibility', 'share_of_voice', 'position', 'sentiment', 'owned_citations'] as const;
const TITLES = ['Visibility', 'Share of voice', 'Position', 'Sentiment', 'Own citations'] as const;

/** Shares of the API have one decimal of a percentage. */
const SHARE_ERROR = 0.0005 + 1e-9;

// That a page shows only numbers of its requests is a test of test/web/matrix. These tests compare columns with their meaning.
describeWith(noBrowser)('the numbers of the data pages', () => {
  const workspace = worldBefore('months');
  const server = serverBefore(workspace);

  const records = (path: string): Promise<Row[]> => server().records(path);
  const data = async (path: string): Promise<Row[]> => (await server().json<{ data: Row[] }>(path)).data;
  const brandOf = async (): Promise<string> => String((await records('/data/queries/brands'))[0]?.['brand_id']);
  const open = (path: string) => openDataPage(`${server().origin}${path}`);

  // The overview shows the numbers of /v1 and of the metrics layer, for the range of its address.
  const expectOverview = async (page: Page): Promise<void> => {
    const brand = await brandOf();
    const expectNumbers = async ({ search }: { search: string }): Promise<void> => {
      const reported = await data(`/v1/brands/${brand}/metrics?${search}`);
      const [model] = await records(`/data/metrics?metrics=${MEASURES.join()}&brand=${brand}&${search}`);
      for (const [index, title] of TITLES.entries())
        expect(await tileOf(page, title), title).toBe(model?.[MEASURES[index] ?? '']);
      const own = reported.find(({ competitorId }) => competitorId === null);
      expect(Number(own?.['visibility']) / 100).toBeCloseTo(Number(model?.['visibility']), 2);
      const shares = (await rowsOf(page, 'Ranking')).map(({ cells }) => cells['Visibility'] ?? Number.NaN);
      const expected = reported.map(({ visibility }) => Number(visibility) / 100).sort((a, b) => b - a);
      expect(shares).toHaveLength(expected.length);
      for (const [index, share] of shares.entries())
        expect(Math.abs(share - (expected[index] ?? 0)), `${shares} ${expected}`).toBeLessThanOrEqual(SHARE_ERROR);
    };
    const range = await daysOf(page);
    await expectNumbers(range);
    await page.getByRole('button', { name: '7 d', exact: true }).click();
    await page.waitForURL(/range=7d/);
    await settled(page);
    const week = await daysOf(page);
    expect(week.to).toBe(range.to);
    expect(Date.parse(week.to) - Date.parse(week.from)).toBe(6 * 86_400_000);
    await expectNumbers(week);
    const shown = await page.locator('.page-title p').textContent();
    await page.goBack();
    await settled(page);
    expect(await page.locator('.page-title p').textContent()).not.toBe(shown);
    await expectNumbers(range);
  };

  // The tables of competitors and of a competitor have the numbers of the metrics layer.
  const expectCompetitors = async (page: Page): Promise<void> => {
    const brand = await brandOf();
    const names = MEASURES.slice(0, 4);
    const shownColumns = names.flatMap((name) => [name, `${name}_change`]);
    await visit(page, `/competitors?range=7d&columns=entity,${shownColumns.join()}`, 'Competitors');
    const { search } = await daysOf(page);
    const rows = await records(`/data/metrics?metrics=${names.join()}&group_by=entity&brand=${brand}&${search}`);
    const shown = await rowsOf(page, 'Brand and competitors');
    expect(shown).toHaveLength(rows.length);
    for (const row of rows) {
      const cells = shown.find(({ text }) => text === row['entity'])?.cells;
      for (const [index, name] of names.entries()) {
        expect(cells?.[TITLES[index] ?? '']).toBe(row[name]);
        expect(cells?.[`Δ ${TITLES[index]}`]).toBe(row[`${name}_change`]);
      }
    }
    const rival = rows.find((row) => row['competitor_id'] !== null && row['visibility'] !== 0);
    const table = page.getByRole('region', { name: 'Rows of Brand and competitors', exact: true });
    await table.getByRole('link', { name: String(rival?.['entity']) }).click();
    await page.waitForURL(/competitor=/);
    await settled(page);
    const prompts = await records(
      `/data/queries/competitor_prompts?brand=${brand}&${search}&competitor_id=${rival?.['competitor_id']}`,
    );
    const leads = (await rowsOf(page, 'Who wins its prompts')).map(({ cells }) => cells['Lead']);
    expect(leads).toEqual(prompts.map((row) => row['lead']));
  };

  // The tables of domains and of topics have the numbers of /v1.
  const expectDomainsAndTopics = async (page: Page): Promise<void> => {
    const brand = await brandOf();
    await visit(page, '/sources?range=7d', 'Sources');
    const { search } = await daysOf(page);
    const domains = await data(`/v1/brands/${brand}/sources/domains?limit=5&${search}`);
    expect(domains.length).toBeGreaterThan(1);
    const shown = await rowsOf(page, 'Cited domains');
    for (const { domain, citations, responses } of domains)
      expect(shown.find(({ text }) => text === domain)?.cells).toMatchObject({
        Citations: citations,
        Responses: responses,
      });
    await visit(page, '/topics?range=7d', 'Topics and tags');
    const groups = (await data(`/v1/brands/${brand}/metrics/groups?${search}`)).filter(
      ({ groupId, responses }) => groupId !== null && responses !== 0,
    );
    expect(groups.length).toBeGreaterThan(1);
    const topics = await rowsOf(page, 'Topics');
    for (const { name, responses, visibility, shareOfVoice } of groups) {
      const { cells = {} } = topics.find(({ text }) => text === name) ?? {};
      expect(cells['Responses']).toBe(responses);
      for (const [title, value] of [
        ['Visibility', visibility],
        ['Share of voice', shareOfVoice],
      ] as const)
        expect(Math.abs(Number(cells[title]) - Number(value) / 100), title).toBeLessThanOrEqual(SHARE_ERROR);
    }
  };

  // The table of prompts has the numbers of the metrics layer, and keeps its view in the address.
  const expectPrompts = async (page: Page): Promise<void> => {
    const brand = await brandOf();
    await visit(page, '/prompts', 'Prompts');
    const { search } = await daysOf(page);
    const measured = await records(
      `/data/metrics?metrics=visibility,position&group_by=prompt&brand=${brand}&${search}`,
    );
    const reported = await data(`/v1/brands/${brand}/metrics/prompts?${search}`);
    expect(reported.length).toBeGreaterThan(3);
    const shown = await rowsOf(page, 'All prompts');
    for (const { promptId, prompt, responses } of reported) {
      const measure = measured.find((row) => row['prompt_id'] === promptId);
      expect(shown.find(({ text }) => text === prompt)?.cells).toMatchObject({
        Responses: responses,
        Visibility: measure?.['visibility'] ?? null,
        Change: measure?.['visibility_change'] ?? null,
        Position: measure?.['position'] ?? null,
      });
    }
    await page.getByRole('button', { name: /^Responses/ }).click();
    await page.waitForURL(/sort=-responses/);
    await page.getByRole('button', { name: 'Menu of All prompts' }).click();
    await page.locator('summary:visible', { hasText: 'Columns' }).click();
    await page.getByRole('checkbox', { name: 'State' }).check();
    await page.waitForURL(/columns=[^&]*state/);
    await page.reload();
    await settled(page);
    expect(await page.locator('th[aria-sort=descending]').textContent()).toMatch(/^Responses/);
    expect(await page.getByRole('columnheader', { name: 'State' }).count()).toBe(1);
  };

  // The page of a prompt has its responses, its history per engine and its competitors.
  const expectPrompt = async (page: Page): Promise<void> => {
    const brand = await brandOf();
    const listed = await records(`/data/queries/prompt_list?brand=${brand}`);
    const prompt = listed.find((row) => Number(row['responses']) > 20) ?? {};
    await visit(page, `/prompts/${prompt['prompt_id']}`, String(prompt['text']));
    const measured = await records(
      `/data/metrics?metrics=visibility&group_by=entity&brand=${brand}&prompt=${prompt['prompt_id']}&compare_to=none&order=-visibility,entity`,
    );
    const shown = await rowsOf(page, 'Competitors in its responses');
    expect(shown.map(({ cells }) => cells['Visibility'])).toEqual(measured.map((row) => row['visibility']));
    expect(await tileOf(page, 'Visibility')).toBe(
      measured.find((row) => row['entity_type'] === 'brand')?.['visibility'],
    );
    await page.getByRole('combobox', { name: 'Measure' }).selectOption('position');
    await page.getByRole('heading', { name: 'Position by engine' }).waitFor();
    expect(page.url()).toContain('measure=position');
    expect(await page.getByText('first seen as').count()).toBe(1);
  };

  // The traffic is the sum of its sources and the total of /v1.
  const expectTraffic = async (page: Page): Promise<void> => {
    const brand = await brandOf();
    const asked = await requestOf(page, 'traffic_sources');
    const sources = await records(`${asked.pathname}${asked.search}`);
    const { search } = await daysOf(page);
    const { totals } = await server().json<{ totals: Row }>(`/v1/brands/${brand}/traffic?${search}`);
    expect(Number(totals['aiSessions'])).toBeGreaterThan(0);
    for (const [title, column, total] of [
      ['AI sessions', 'sessions', 'aiSessions'],
      ['Key events', 'key_events', 'keyEvents'],
      [/^Revenue/, 'revenue', 'revenue'],
    ] as const) {
      const shown = await tileOf(page, title);
      const sum = sources.reduce((before, row) => before + Number(row[column]), 0);
      expect(shown).toBeCloseTo(sum, 6);
      expect(shown).toBeCloseTo(Number(totals[total]), 6);
    }
  };

  // A comparison shows the differences of two engines, keeps its sides in the address and swaps them.
  const expectComparison = async (page: Page): Promise<void> => {
    const brand = await brandOf();
    await visit(page, '/compare', 'Compare');
    const { search } = await daysOf(page);
    const [first, second] = (await records(`/data/queries/filters?brand=${brand}`))
      .filter((row) => row['filter'] === 'engine')
      .map((row) => String(row['id']));
    const sides = await Promise.all(
      [first, second].map(async (engine) => {
        const path = `/data/metrics?metrics=${MEASURES.join()}&brand=${brand}&engine=${engine}&compare_to=none&${search}`;
        return (await records(path))[0] ?? {};
      }),
    );
    const columns = async (): Promise<(number | null)[][]> =>
      (await rowsOf(page, 'Measures')).map(({ cells }) => Object.values(cells).slice(1, 4));
    const expected = MEASURES.map((name) => {
      const [a = null, b = null] = sides.map((side) => side[name] as number | null);
      return [a, b, a === null || b === null ? null : a - b];
    });
    expect(expected[0]?.[2]).not.toBe(0);
    expect(await columns()).toEqual(expected);
    await page.getByRole('button', { name: 'Swap' }).click();
    await page.waitForURL((url) => url.searchParams.get('a') === second && url.searchParams.get('b') === first);
    await settled(page);
    const swapped = expected.map(([a = null, b = null, c = null]) => [b, a, c === null ? null : 0 - c]);
    expect(await columns()).toEqual(swapped);
    await page.reload();
    await settled(page);
    expect(await columns()).toEqual(swapped);
  };

  // Articles and alerts are those of their lists; filters of the table are in the address.
  const expectContentAndAlerts = async (page: Page): Promise<void> => {
    const brand = await brandOf();
    await visit(page, '/content', 'Content');
    const articles = await data(`/v1/brands/${brand}/articles`);
    expect(articles.length).toBeGreaterThan(0);
    expect(await rowsOf(page, 'Articles')).toHaveLength(articles.length);
    await page.getByRole('region', { name: 'Rows of Articles' }).getByRole('link').first().click();
    await page.getByRole('heading', { name: 'Sources' }).waitFor();
    expect(new URL(page.url()).searchParams.get('article')).not.toBe(null);

    await visit(page, '/alerts?range=all', 'Alerts');
    const asked = await requestOf(page, 'alert_list');
    const alerts = await records(`${asked.pathname}${asked.search}`);
    const status = page.getByRole('region', { name: 'Alerts', exact: true }).getByRole('status');
    expect(await status.textContent()).toBe(`${alerts.length} rows`);
    const drops = alerts.filter(({ type }) => type === 'visibility_drop');
    // A field has one line.
    const text = String(drops[0]?.['detail']).toLocaleLowerCase().split('\n').at(-1) ?? '';
    const found = drops.filter(({ detail }) => String(detail).toLocaleLowerCase().includes(text));
    expect(found.length).toBeLessThan(drops.length);
    const field = page.getByRole('searchbox', { name: 'Filter rows of Alerts' });
    await field.fill(text.toLocaleUpperCase());
    const drop = page.getByRole('button', { name: `visibility drop ${drops.length}`, exact: true });
    await drop.click();
    await page.waitForURL(/find=.*type=visibility/);
    await page.reload();
    await settled(page);
    expect(await field.inputValue()).toBe(text.toLocaleUpperCase());
    expect(await drop.getAttribute('aria-pressed')).toBe('true');
    expect(await status.textContent()).toBe(`${found.length} of ${alerts.length} rows`);
    await page.getByRole('region', { name: 'Rows of Alerts' }).locator('tbody a').first().click();
    await page.getByRole('region', { name: 'Up to the alert', exact: true }).locator('tbody tr').first().waitFor();
    const { pathname, search } = await requestOf(page, 'compare_to=previous');
    const own = (await records(`${pathname}${search}`)).find((row) => row['competitor_id'] === null);
    const values = await page
      .locator('td[data-value]')
      .evaluateAll((all) => all.map((cell) => cell.getAttribute('data-value')));
    expect(values).toContain(String(own?.['visibility']));
  };

  test('in the tables of the overview, competitors, sources, topics and prompts are those of the metrics layer and /v1', async () => {
    const page = await open('/');
    await expectOverview(page);
    await expectCompetitors(page);
    await expectDomainsAndTopics(page);
    await expectPrompts(page);
  });

  test('of a prompt, traffic, a comparison, articles and alerts are those of the metrics layer and /v1', async () => {
    const page = await open('/traffic');
    await expectTraffic(page);
    await expectPrompt(page);
    await expectComparison(page);
    await expectContentAndAlerts(page);
  });
});

describeWith(noBrowser)('the page of a response that upstream has changed', () => {
  const workspace = worldBefore('tiny');

  test('shows its versions', async () => {
    const { sandbox, sync } = workspace();
    const edited = sandbox.advance({ editedResponses: 20 }).flatMap(({ ids }) => ids);
    await sync(['responses']);
    const server = await serveStatus(workspace(), { pages: 'loopback' });
    const histories = await Promise.all(edited.map((id) => server.records(`/data/queries/response_versions?id=${id}`)));
    const changed = histories.findIndex((versions) => versions.length === 2);
    const page = await openDataPage(`${server.origin}/responses/${edited[changed]}`);
    const versions = page.getByRole('region', { name: 'Versions', exact: true }).locator('.versions > li');
    expect(await versions.count()).toBe(2);
    const columns = histories[changed]?.[0]?.['changed'] as string[];
    expect(await versions.first().getByRole('listitem').count()).toBe(columns.length);
    expect(await versions.last().textContent()).toContain('first seen as');
  });
});
