import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TableResult } from '../../src/query/metrics/table-result.ts';
import { launchBrowser, noBrowser } from '../support/browser.ts';
import { describeWith } from '../support/needs.ts';
import { expectUsable, TWO_LOOKS } from './app-browser.ts';
import { openPage, recordsOf, settled } from './open-page.ts';
import { type StatusServer, serveStatus, workspaceBefore } from './support.ts';

interface Item {
  readonly id: string;
  readonly prompt: string;
  readonly citations: readonly { readonly url: string }[];
}

describeWith(noBrowser)('the pages of prompts and responses', () => {
  const workspace = workspaceBefore(60, { prompts: 6 });
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  const brandOf = (): string => workspace().sandbox.world.brands[0]?.id ?? '';

  async function json<T>(server: StatusServer, path: string): Promise<T> {
    const response = await server.ask(path);
    expect(response.status, path).toBe(200);
    return (await response.json()) as T;
  }

  test('the table of prompts has the numbers of the metrics layer and of /v1, and keeps its view in the address', async () => {
    const server = await serveStatus(workspace(), { pages: 'loopback' });
    const { page, trouble } = await openPage(browser, `${server.origin}/prompts`);
    const { completeTo } = await json<TableResult>(server, '/data/queries/brands');
    const range = `from=${dayBefore(completeTo, 27)}&to=${completeTo}`;
    const measured = recordsOf(
      await json(server, `/data/metrics?metrics=visibility,position&group_by=prompt&brand=${brandOf()}&${range}`),
    );
    const reported = await json<{
      data: { promptId: string; prompt: string; responses: number; visibility: number }[];
    }>(server, `/v1/brands/${brandOf()}/metrics/prompts?${range}`);
    expect(reported.data.length).toBeGreaterThan(3);
    const shown = await rowsOf(page, 'All prompts');
    const scale = Math.max(...reported.data.map(({ visibility }) => visibility)) > 1 ? 100 : 1;
    for (const { promptId, prompt, responses, visibility } of reported.data) {
      const cells = shown.find(({ text }) => text === prompt)?.values ?? [];
      const measure = measured.find((row) => row['prompt_id'] === promptId);
      // Prompt, topic, responses, visibility, change, position.
      expect(cells[2]).toBe(responses);
      expect(cells[3]).toBe(measure?.['visibility']);
      expect(Math.abs(Number(cells[3]) * scale - visibility)).toBeLessThanOrEqual(0.06);
      expect(cells[4]).toBe(measure?.['visibility_change'] ?? null);
      expect(cells[5]).toBe(measure?.['position'] ?? null);
    }
    await page.getByRole('button', { name: /^Responses/ }).click();
    await page.waitForURL(/sort=-n/);
    await page.getByText('Columns', { exact: true }).click();
    await page.getByRole('checkbox', { name: 'State' }).check();
    await page.waitForURL(/columns=[^&]*state/);
    await page.reload();
    await settled(page);
    expect(await page.locator('th[aria-sort=descending]').textContent()).toMatch(/^Responses/);
    expect(await page.getByRole('columnheader', { name: 'State' }).count()).toBe(1);
    expect(trouble).toEqual([]);
    await page.close();
  });

  test('the page of a prompt has its responses, its history per engine and its competitors', async () => {
    const server = await serveStatus(workspace(), { pages: 'loopback' });
    const listed = recordsOf(await json(server, `/data/queries/prompt_list?brand=${brandOf()}`));
    const prompt = listed.find((row) => Number(row['responses']) > 20) ?? {};
    const { page, trouble } = await openPage(browser, `${server.origin}/prompts/${prompt['prompt_id']}`);
    expect(await page.locator('h1').textContent()).toBe(prompt['text']);
    const measured = recordsOf(
      await json(
        server,
        `/data/metrics?metrics=visibility&group_by=entity&brand=${brandOf()}&prompt=${prompt['prompt_id']}&compare_to=none&order=-visibility,entity`,
      ),
    );
    const shown = await rowsOf(page, 'Competitors in the responses');
    expect(shown.map(({ values }) => values[1])).toEqual(measured.map((row) => row['visibility']));
    const tile = page.getByRole('region', { name: 'Visibility', exact: true }).locator('.tile-value');
    expect(Number(await tile.getAttribute('data-value'))).toBe(
      measured.find((row) => row['entity_type'] === 'brand')?.['visibility'],
    );
    const measures = page.getByRole('group', { name: 'Measure of the chart' });
    await measures.getByRole('button', { name: 'Position' }).click();
    await page.getByRole('heading', { name: 'Position by engine' }).waitFor();
    expect(page.url()).toContain('measure=position');
    expect(await page.getByText('first seen as').count()).toBe(1);
    expect(trouble).toEqual([]);
    await page.close();
  });

  test('the reader searches, steps with keys through the found responses, and shows each as /v1 serves it', async () => {
    const server = await serveStatus(workspace(), { pages: 'loopback' });
    const { completeTo } = await json<TableResult>(server, '/data/queries/brands');
    const range = `from=${dayBefore(completeTo, 27)}&to=${completeTo}`;
    const { data: items } = await json<{ data: Item[] }>(
      server,
      `/v1/brands/${brandOf()}/responses?limit=100&${range}`,
    );
    const url = items.find(({ citations }) => citations.length > 0)?.citations[0]?.url ?? '';
    const { page, trouble } = await openPage(browser, `${server.origin}/responses`);
    expect((await rowsOf(page, 'All responses')).slice(0, 5).map(({ text }) => text)).toEqual(
      items.slice(0, 5).map(({ prompt }) => prompt),
    );
    await page.getByLabel('Search').fill(url);
    await page.waitForURL((address) => address.searchParams.get('search') === url);
    await settled(page);
    const found = recordsOf(
      await json(server, `/data/queries/response_list?brand=${brandOf()}&${range}&search=${encodeURIComponent(url)}`),
    ).map((row) => String(row['response_id']));
    const links = page
      .getByRole('region', { name: 'Rows of All responses', exact: true })
      .locator('tbody td:first-child > a');
    await expect.poll(() => links.first().getAttribute('href')).toContain(found[0]);
    await links.first().click();
    await page.waitForURL(new RegExp(`/responses/${found[0]}`));
    await settled(page);
    await page.getByText('JSON', { exact: true }).click();
    const shown = JSON.parse((await page.locator('.json code').textContent()) ?? 'null') as Item;
    expect(shown).toEqual(items.find(({ id }) => id === found[0]));
    if (found.length > 1) {
      await page.locator('.steps a', { hasText: 'Older' }).waitFor();
      await page.keyboard.press('j');
      await page.waitForURL(new RegExp(`/responses/${found[1]}`));
      await page.locator('.steps a', { hasText: 'Newer' }).waitFor();
      await page.keyboard.press('ArrowLeft');
      await page.waitForURL(new RegExp(`/responses/${found[0]}`));
    }
    await page.getByRole('link', { name: 'All responses', exact: true }).click();
    expect(await page.getByLabel('Search').inputValue()).toBe(url);
    await page.getByLabel('Search').press('j');
    expect(new URL(page.url()).pathname).toBe('/responses');
    expect(trouble).toEqual([]);
    await page.close();
  });

  test('a response that upstream has changed shows its versions', async () => {
    const { sandbox, sync } = workspace();
    const edited = sandbox.advance({ editedResponses: 20 }).flatMap(({ ids }) => ids);
    await sync();
    const server = await serveStatus(workspace(), { pages: 'loopback' });
    const histories = await Promise.all(
      edited.map(async (id) => recordsOf(await json(server, `/data/queries/response_versions?id=${id}`))),
    );
    const [current = {}] = histories.find((versions) => versions.length === 2) ?? [];
    const { page, trouble } = await openPage(
      browser,
      `${server.origin}/responses/${edited[histories.findIndex((versions) => versions.includes(current))]}`,
    );
    const block = page.getByRole('region', { name: 'Versions', exact: true });
    const versions = block.locator('.versions > li');
    expect(await versions.count()).toBe(2);
    expect(await versions.first().getByRole('listitem').count()).toBe((current['changed'] as string[]).length);
    expect(await versions.last().textContent()).toContain('first seen as');
    await expectUsable(page);
    expect(trouble).toEqual([]);
    await page.close();
  });

  test.each(TWO_LOOKS)(
    'all pages are accessible and have no horizontal scroll at %i pixels, %s',
    async (width, colorScheme) => {
      const server = await serveStatus(workspace(), { pages: 'loopback' });
      const [row] = recordsOf(await json(server, `/data/queries/response_list?brand=${brandOf()}&limit=1`));
      for (const path of [
        '/prompts',
        `/prompts/${row?.['prompt_id']}`,
        '/responses',
        `/responses/${row?.['response_id']}`,
      ]) {
        const { page, trouble } = await openPage(browser, `${server.origin}${path}`, {
          viewport: { width, height: 900 },
          colorScheme,
        });
        await expectUsable(page);
        expect(trouble, path).toEqual([]);
        await page.close();
      }
    },
  );
});

/** The drawn rows of a table: the text of the first link, and the numbers of the cells. */
async function rowsOf(page: Page, name: string): Promise<{ text: string; values: (number | null)[] }[]> {
  const rows = page.getByRole('region', { name: `Rows of ${name}`, exact: true }).locator('table tbody tr:not(.space)');
  await rows.first().waitFor();
  return rows.evaluateAll((all) =>
    all.map((row) => ({
      text: row.querySelector('a, strong')?.textContent ?? '',
      values: [...row.children].map((cell) => {
        const value = cell.getAttribute('data-value');
        return value === null ? null : Number(value);
      }),
    })),
  );
}

function dayBefore(day: string | null, days: number): string {
  return new Date(Date.parse(day ?? '') - days * 86_400_000).toISOString().slice(0, 10);
}
