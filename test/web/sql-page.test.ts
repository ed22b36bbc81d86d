import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page, Response } from 'playwright-core';
import { expect, test } from 'vitest';
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import { createKey } from '../../src/serve/auth/keys.ts';
import { until } from '../cli/helpers.ts';
import { noBrowser } from '../support/browser.ts';
import { IS_ENDURANCE, sampleOf } from '../support/counts.ts';
import { describeWith } from '../support/needs.ts';
import { expectUsable, openPage } from './open-page.ts';
import { LOOKS } from './page-faults.ts';
import { serverBefore, serveStatus, worldBefore } from './support.ts';

/** Whether an entry of the browser is the loaded list of tables. */
const IS_SCHEMA = "({ name }) => name.endsWith('/data/sql/schema')";

/** Chromium reports each response with an error status, which no page can prevent. */
const FAILED = /Failed to load resource: the server responded with a status of (400|409|412)/;

describeWith(noBrowser)('the SQL page', () => {
  const workspace = worldBefore('tiny');
  const server = serverBefore(workspace);

  async function open(search = '', allowed = FAILED): Promise<Page> {
    const page = await openPage(`${server().origin}/sql${search}`, { allowed });
    await editorOf(page).waitFor();
    // The names for completion are loaded.
    await until('the list of tables is loaded', () =>
      page.evaluate(`performance.getEntriesByType('resource').some(${IS_SCHEMA})`),
    );
    return page;
  }

  test('runs the query of its address, shows rows and a chart that can be changed, and is accessible in all views', async () => {
    const sql = 'SELECT engine, count(*) AS responses FROM mart.fct_response GROUP BY ALL ORDER BY engine';
    const page = await open(`?${new URLSearchParams({ q: sql })}`);
    const table = queryResult(page).locator('table');
    await editorOf(page).focus();
    const [response] = await Promise.all([sqlResponse(page), page.keyboard.press('Control+Enter')]);
    const { rows, rowsTotal } = (await response.json()) as { rows: [string, number][]; rowsTotal: number };
    expect(rows.length).toBeGreaterThan(1);
    await table.waitFor();
    const shown = await table
      .locator('tbody tr')
      .evaluateAll((all) =>
        all.map((row) => [...row.children].map((cell) => cell.getAttribute('data-value') ?? cell.textContent)),
      );
    expect(shown).toEqual(rows.map(([engine, count]) => [engine, String(count)]));
    expect(await queryResult(page).textContent()).toMatch(new RegExp(`^${rowsTotal} rows in .* s · data as of .* UTC`));
    await page.getByRole('link', { name: 'Chart' }).click();
    await page.waitForURL(/view=chart/);
    const chart = page.getByRole('group', { name: /^responses by engine/ });
    expect(await chart.locator('svg rect').count()).toBeGreaterThanOrEqual(rows.length);
    expect(await page.getByLabel('Chart', { exact: true }).inputValue()).toBe('bars');
    await page.getByLabel('Chart', { exact: true }).selectOption('scatter');
    await page.getByText('Points need numbers for both axes').waitFor();
    expect(new URL(page.url()).searchParams.get('chart')).toBe('scatter');
    await page.getByLabel('Chart', { exact: true }).selectOption('bars');
    // Narrow pages show the panels below the result.
    for (const [index, [view, panel]] of (
      [
        ['Table', 'Questions'],
        ['Table', 'Tables'],
        ['Chart', 'Saved'],
        ['Chart', 'History'],
      ] as const
    ).entries()) {
      await page.getByRole('navigation', { name: 'Views of the result' }).getByRole('link', { name: view }).click();
      await page
        .getByRole('navigation', { name: 'Parts of the side panel' })
        .getByRole('link', { name: panel })
        .click();
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
      await expectUsable(page, `${view} ${panel}`, IS_ENDURANCE ? LOOKS : sampleOf(LOOKS, 1, index));
    }
  });

  test('shows the number of rows of a long result, and downloads all of them', async () => {
    const page = await open('?q=FROM+range(12345)');
    const { rowsTotal } = (await (await run(page)).json()) as { rowsTotal: number | null };
    // The server counts all rows only if the query was fast.
    await page.getByText(`First 10,000 of ${rowsTotal === null ? 'more' : '12,345'} rows`).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as CSV', exact: true }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('query.csv');
    const text = await readFile(await download.path(), 'utf8');
    expect(text.trim().split('\n')).toHaveLength(12_346);
    for (const [label, ending, start] of [
      ['CSV for Excel', 'csv', '\ufeff'],
      ['Excel', 'xlsx', 'PK'],
      ['Parquet', 'parquet', 'PAR1'],
      ['Arrow', 'arrows', ''],
    ] as const) {
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: `Download as ${label}`, exact: true }).click(),
      ]);
      expect(file.suggestedFilename()).toBe(`query.${ending}`);
      expect((await readFile(await file.path())).subarray(0, Buffer.byteLength(start)).toString()).toBe(start);
    }
  });

  test('completes columns, leaves the editor with Tab, runs a question, inserts a column and keeps a history', async () => {
    const page = await open();
    await editorOf(page).focus();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('SELECT r.engi FROM mart.fct_response r');
    for (let step = 0; step < ' FROM mart.fct_response r'.length; step += 1) await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Control+Space');
    const proposal = page.locator('.cm-tooltip-autocomplete li', { hasText: /^engine/ });
    await page.locator('.cm-completionInfo').waitFor();
    // A key is ignored just after the list has appeared.
    await proposal.click();
    expect(await editorOf(page).textContent()).toBe('SELECT r.engine FROM mart.fct_response r');
    // Tab indents, until Escape was pressed.
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('textbox');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Run');
    await page.getByLabel('Find questions').fill('week by week');
    await Promise.all([
      sqlResponse(page),
      page
        .getByRole('button', { name: /^Run: / })
        .first()
        .click(),
    ]);
    await queryResult(page).waitFor();
    expect(await editorOf(page).textContent()).toMatch(/^-- How has our visibility/);
    await page.getByRole('link', { name: 'Tables', exact: true }).click();
    await page.getByLabel('Find tables and columns').fill('fct_response');
    await page.locator('summary', { hasText: /^fct_response$/ }).click();
    await page.getByText('The response.').first().waitFor();
    await page.getByRole('button', { name: 'Insert response_id' }).click();
    expect(await editorOf(page).textContent()).toContain('response_id');
    await page.getByRole('link', { name: 'History' }).click();
    const past = page.getByRole('region', { name: 'History' }).getByRole('listitem');
    expect(await past.count()).toBe(1);
    await page.reload();
    await editorOf(page).waitFor();
    expect(await past.count()).toBe(1);
    await page.getByRole('button', { name: 'Clear the history' }).click();
    await page.getByText('Queries that you run are listed here').waitFor();
  });

  test('shows the place of an error and the nearest name, and cancels a query with Escape', async () => {
    // The request that cancels may arrive before the query.
    const page = await open('?q=SELECT%20id%2C%0A%20%20nam%0AFROM%20brands', /status of 4(00|04|09)/);
    await run(page);
    const alert = page.getByRole('region', { name: 'Error of the query' });
    expect(await alert.textContent()).toContain('Line 2, column 3: unknown column "nam"; nearest: "name"');
    expect(await page.locator('.cm-wrong').textContent()).toBe('nam');
    await page.getByRole('button', { name: 'Go to the error' }).click();
    expect(await focused(page)).toBe('textbox');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('status').getByText('Running').waitFor();
    // The id is known to the server when the request has arrived.
    await until('the query is canceled', async () => {
      await page.keyboard.press('Escape');
      return page.getByText('The query was canceled.').isVisible();
    });
  });

  test('saves a query as a file, reports that another program changed it, renames and deletes it', async () => {
    const page = await open('?q=SELECT+1&panel=saved');
    const file = (name: string): string => join(layoutOf(workspace().config.folder).queries, `${name}.sql`);
    await page.getByLabel('Name of the saved query').fill('weekly');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved as weekly.').waitFor();
    expect(await readFile(file('weekly'), 'utf8')).toBe('SELECT 1');
    await writeFile(file('weekly'), 'SELECT 2');
    await editorOf(page).focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' + 2');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('There is another version of “weekly”').waitFor();
    await page.getByRole('button', { name: 'Overwrite it' }).click();
    await page.getByText('Saved as weekly.').waitFor();
    expect(await readFile(file('weekly'), 'utf8')).toBe('SELECT 1 + 2');
    await page.getByRole('button', { name: 'Rename weekly' }).click();
    await page.getByLabel('New name of weekly').fill('daily');
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await page.getByRole('button', { name: 'Rename daily' }).waitFor();
    expect(await page.getByLabel('Name of the saved query').inputValue()).toBe('daily');
    await page.getByRole('button', { name: 'Delete daily …' }).click();
    await page.getByRole('button', { name: 'Delete daily', exact: true }).click();
    await page.getByText('No saved queries yet.').waitFor();
    await expect(readFile(file('daily'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('explains to a key without the scope sql how to get it', async () => {
    const { config, clock } = workspace();
    const reader = await createKey(config.folder, 'reader', null, clock.now(), { scopes: ['read'] });
    const closed = await serveStatus(workspace());
    const page = await openPage(`${closed.origin}/sql`, {
      extraHTTPHeaders: { 'x-api-key': reader.text },
      allowed: /status of 403/,
    });
    const region = page.getByRole('region', { name: 'No access to SQL' });
    expect(await region.textContent()).toMatch(/“reader” does not have the scope sql.*--scope read metrics sql/);
  });
});

function editorOf(page: Page) {
  return page.getByRole('textbox', { name: /^SQL/ });
}

function queryResult(page: Page) {
  return page.getByRole('region', { name: 'Result of the query' });
}

function sqlResponse(page: Page) {
  return page.waitForResponse((response) => response.url().endsWith('/data/sql'));
}

async function run(page: Page): Promise<Response> {
  const click = page.getByRole('button', { name: 'Run', exact: true }).click();
  const [response] = await Promise.all([sqlResponse(page), click]);
  return response;
}

/** Role or text of the focused element, also in a shadow root. */
function focused(page: Page): Promise<string> {
  return page.evaluate(
    '(() => { const at = document.activeElement; const inner = at.shadowRoot?.activeElement ?? at; return inner.getAttribute("role") ?? inner.textContent; })()',
  );
}
