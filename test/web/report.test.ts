import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BRAND_HINT, type CliWorkspace, expectRefusal, openCliFor } from '../cli/helpers.ts';
import { browserPath, launchBrowser, sayWithoutBrowser } from '../support/browser.ts';
import { contrast, luminance } from '../support/contrast.ts';

interface Written {
  readonly brandId: string;
  readonly name: string;
  readonly page: string;
  readonly charts: readonly string[];
}

let workspace: CliWorkspace & { close: () => Promise<void> };
let reports: Written[];

beforeAll(async () => {
  workspace = await openCliFor({ brands: 2, prompts: 4, days: 70 });
  const synced = await workspace.run('sync');
  if (synced.code !== 0) throw new Error(synced.stderr);
  const { code, stdout, stderr } = await workspace.run('report', '--json');
  if (code !== 0) throw new Error(stderr);
  ({ reports } = JSON.parse(stdout) as { reports: Written[] });
});

afterAll(() => workspace.close());

describe('sightline report', () => {
  test('writes a page and chart files for each brand', async () => {
    const { data, rows } = workspace;
    const brands = await rows('select id, name from brands');
    expect(new Map(reports.map(({ brandId, name }) => [brandId, name]))).toEqual(
      new Map(brands.map(({ id, name }) => [id, name])),
    );
    for (const { page, charts } of reports) {
      expect(dirname(page)).toBe(join(data, 'reports'));
      expect(charts.length).toBeGreaterThanOrEqual(5);
      for (const chart of charts) expect(await readFile(chart, 'utf8')).toMatch(/^<svg [\s\S]*<\/svg>$/);
    }
    expect((await readdir(join(data, 'reports'))).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  test('shows the numbers that the stored responses give', async () => {
    const [{ brandId, page } = { brandId: '', page: '' }] = reports;
    const text = await readFile(page, 'utf8');
    const [period] = await workspace.rows(
      `select recent_from, anchor_day from mart.periods where brand_id = '${brandId}'`,
    );
    const [counted] = await workspace.rows(
      `select count(*) as answers, count(*) filter (brand_mentioned) as mentions from responses where brand_id = '${brandId}'
       and _deleted_at is null and created_at >= '${period?.['recent_from']}' and created_at < '${period?.['anchor_day']}'::date + 1`,
    );
    const [mentions, answers] = [Number(counted?.['mentions']), Number(counted?.['answers'])];
    expect(answers).toBeGreaterThan(100);
    expect(text).toContain(`<p class="figure">${((100 * mentions) / answers).toFixed(1)} %</p>`);
    expect(text).toContain(
      `${mentions.toLocaleString('en-US')} of ${answers.toLocaleString('en-US')} responses mention`,
    );
  });

  test('accepts --brand, --weeks and --output, and overwrites existing files', async () => {
    const { run, folder } = workspace;
    const [{ brandId } = { brandId: '' }] = reports;
    const args = ['report', '--brand', brandId.toUpperCase(), '--weeks', '4', '--output', 'out'];
    const first = await run(...args);
    expect(first.code, first.stderr).toBe(0);
    const page = first.stdout.trim();
    expect(dirname(page)).toBe(join(folder, 'out'));
    const { mtimeMs } = await stat(page);
    expect((await run(...args)).stdout).toBe(first.stdout);
    expect((await stat(page)).mtimeMs).toBeGreaterThan(mtimeMs);
    expect((await readdir(join(folder, 'out'))).sort()).toEqual([basename(page, '.html'), basename(page)].sort());
    expect((await readFile(page, 'utf8')).match(/>4 weeks|, 4 weeks to/g)?.length).toBeGreaterThan(0);
  });

  test('rejects unknown brands, invalid weeks and a workspace without data', async () => {
    const { run } = workspace;
    const unknown = '00000000-0000-4000-8000-000000000000';
    expectRefusal(await run('report', '--brand', unknown, '--json'), 'usage', true, BRAND_HINT);
    expectRefusal(await run('report', '--weeks', '0'), 'usage', false);
    expectRefusal(await run('report', '--data-dir', 'elsewhere', '--json'), 'no_data', true);
  });
});

if (browserPath === undefined) sayWithoutBrowser('the report in a browser');
describe.skipIf(browserPath === undefined)('the report in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  async function open(options: Parameters<Browser['newPage']>[0]): Promise<{ page: Page; trouble: string[] }> {
    const page = await browser.newPage(options);
    const trouble: string[] = [];
    page.on('console', (message) => trouble.push(message.text()));
    page.on('pageerror', (error) => trouble.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith('file:')) trouble.push(request.url());
    });
    await page.goto(pathToFileURL(reports[0]?.page ?? '').href);
    return { page, trouble };
  }

  test('needs no network, respects its content security policy and fits phone and desktop', async () => {
    for (const [width, shown] of [
      [360, '.narrow'],
      [1200, '.wide'],
    ] as const) {
      const { page, trouble } = await open({ viewport: { width, height: 800 } });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      expect(await page.locator(`${shown} svg:visible`).count()).toBeGreaterThanOrEqual(5);
      expect(await page.locator(`${shown === '.wide' ? '.narrow' : '.wide'} svg:visible`).count()).toBe(0);
      expect(trouble).toEqual([]);
      await page.close();
    }
  });

  test('follows the colour scheme of the reader and has enough contrast in both', async () => {
    const luminances: number[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await open({ colorScheme });
      const colours = (await page.evaluate(`(() => {
        const of = (selector, property) => getComputedStyle(document.querySelector(selector))[property];
        return [of('section:nth-of-type(2)', 'backgroundColor'), of('body', 'color'), of('figcaption', 'color'), of('.wide svg text', 'fill')];
      })()`)) as string[];
      const [surface, ...texts] = colours.map(luminance) as [number, ...number[]];
      for (const text of texts) expect(contrast(surface, text)).toBeGreaterThanOrEqual(4.5);
      luminances.push(surface);
      await page.close();
    }
    expect(luminances[0]).toBeGreaterThan(0.8);
    expect(luminances[1]).toBeLessThan(0.1);
  });

  test('describes each chart for screen readers', async () => {
    const { page } = await open({});
    const charts = page.getByRole('img');
    expect(await charts.count()).toBeGreaterThanOrEqual(5);
    for (const chart of await charts.all()) expect(await chart.getAttribute('aria-label')).toMatch(/\S+\. \S+/);
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
    await page.close();
  });
});
