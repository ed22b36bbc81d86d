import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WarehouseStatus } from '../../src/warehouse/ledger/warehouse-status.ts';
import { readBrandReport } from '../../src/web/report/brand-report.ts';
import { reportPage } from '../../src/web/report/report-page.ts';
import { escaped } from '../../src/web/report/svg.ts';
import { BRAND_HINT, type CliWorkspace, expectRefusal, openCliFor } from '../cli/helpers.ts';
import { browserPath, launchBrowser, sayWithoutBrowser } from '../support/browser.ts';
import { contrast, luminance } from '../support/contrast.ts';
import { exactly, openWorlds, single, worldId } from '../support/worlds.ts';

interface Written {
  readonly brandId: string;
  readonly name: string;
  readonly page: string;
  readonly charts: readonly string[];
}

const health = {
  workspace: 'default',
  asOf: '2026-03-02T00:00:00.000Z',
  stale: false,
  status: { lastRun: null, resources: [], brands: [], quarantined: 0, drift: [] } as unknown as WarehouseStatus,
};

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
    expect(await readFile(page, 'utf8')).toContain('; 4 weeks, ');
  });

  test('rejects unknown brands, invalid weeks and a workspace without data', async () => {
    const { run } = workspace;
    const unknown = '00000000-0000-4000-8000-000000000000';
    expectRefusal(await run('report', '--brand', unknown, '--json'), 'usage', true, BRAND_HINT);
    expectRefusal(await run('report', '--weeks', '0'), 'usage', false);
    expectRefusal(await run('report', '--data-dir', 'elsewhere', '--json'), 'no_data', true);
  });
});

describe('a report', () => {
  test('names ranges of weeks by their first and last day, and labels Mondays only', async () => {
    const [{ brandId, page, charts } = { brandId: '', page: '', charts: [] }] = reports;
    const weeks = await workspace.rows(
      `select strftime(week, '%-d %b') as monday, strftime(week + 6, '%-d %b %Y') as sunday from mart.visibility_weekly
       where brand_id = '${brandId}' and scope = 'all engines' and is_complete
         and week >= (select min(day) from mart.answers_daily where brand_id = '${brandId}') order by week desc`,
    );
    const mondays = weeks.map(({ monday }) => monday);
    const range = `; ${weeks.length} weeks, ${mondays.at(-1)} to ${weeks[0]?.['sunday']}.`;
    expect((await readFile(page, 'utf8')).includes(range), range).toBe(true);
    const weekly = charts.filter((chart) => /visib.*|share-of-voice|visits|citations/.test(basename(chart)));
    expect(weekly.length).toBeGreaterThanOrEqual(3);
    for (const chart of weekly) {
      const labels = [...(await readFile(chart, 'utf8')).matchAll(/>(\d+ [A-Z][a-z]{2})<\/text>/g)].map(
        ([, day]) => day,
      );
      expect(labels.length, chart).toBeGreaterThanOrEqual(4);
      expect(labels.at(-1), chart).toBe(mondays[0]);
      expect(
        labels.filter((day) => !mondays.includes(day)),
        chart,
      ).toEqual([]);
    }
  });

  test('does not call a section empty that has tables', async () => {
    for (const { page } of reports) {
      const text = await readFile(page, 'utf8');
      expect(text).not.toContain('Nothing to show yet');
      const sources = /<h2>Sources<\/h2>(.*?)<\/section>/s.exec(text)?.[1] ?? '';
      expect(sources.match(/<table /g)?.length).toBe(2);
      expect(sources).not.toContain('class="muted"');
    }
  });

  test('has the sentiment, alerts, action plans, forum threads and articles of the brand', async () => {
    const [{ brandId, page, charts } = { brandId: '', page: '', charts: [] }] = reports;
    const text = await readFile(page, 'utf8');
    const first = async (sql: string): Promise<string> => {
      const [row] = await workspace.rows(sql.replaceAll('$brand', `brand_id = '${brandId}'`));
      return escaped(String(row?.['text']));
    };
    expect(charts.map((chart) => basename(chart))).toContain('sentiment.svg');
    const inSection = (title: string): string =>
      new RegExp(`<h2>${title}</h2>.*?</section>`, 's').exec(text)?.[0] ?? '';
    expect(inSection('Alerts')).toContain(
      await first('select headline as text from mart.fct_alert where $brand order by detected_at desc limit 1'),
    );
    expect(inSection('Action plans')).toContain(
      await first(`select title as text from mart.fct_action a join (select prompt_id from action_plans where $brand and
        _deleted_at is null order by lost desc, prompt limit 10) p using (prompt_id) where $brand and not done
        order by ordinal limit 1`),
    );
    expect(inSection('Forum threads to answer')).toContain(
      await first(
        `select url as text from mart.fct_forum where $brand and status = 'new' order by created_at desc limit 1`,
      ),
    );
    expect(inSection('Articles')).toContain(
      await first(
        "select coalesce(title, 'untitled') as text from articles where $brand order by created_at desc limit 1",
      ),
    );
  });

  test('shows the counts and the interval of every claimed change', async () => {
    const world = [
      single(exactly(10, 50), exactly(40, 50).reverse(), 0),
      single(exactly(30, 50), exactly(28, 50).reverse(), 1),
      single(exactly(30, 50), exactly(0, 50), 2),
    ];
    const { query } = await openWorlds([world]);
    const report = await readBrandReport(query, { id: worldId(0), name: 'Brand' }, 8);
    const text = reportPage(report, health)
      .replaceAll('\u00a0', ' ')
      .replaceAll(/<td [^>]*>/g, '<td>');
    expect(text).toMatch(
      /<td>Prompt 0<\/td><td>20\.0 % \(10 of 50\)<\/td><td>80\.0 % \(40 of 50\)<\/td><td>\+60\.0 points \(\+\d+\.\d to \+\d+\.\d\)<\/td>/,
    );
    expect(text).toMatch(/<td>Prompt 2<\/td>.*−60\.0 points/);
    expect(text).not.toContain('<td>Prompt 1</td>');
    expect(text).toMatch(
      /<h3>Lost<\/h3>.*<td>Prompt 2<\/td><td>100\.0 % \(30 of 30\), 88\.6 % to 100\.0 %<\/td><td>0 of 70, at most 5\.2 %<\/td>/s,
    );
    expect(text).toContain('68 of 150 responses mention the brand');
    expect(text).toMatch(/no significant change: −1\.3 points \(−\d+\.\d to \+\d+\.\d\); before: 46\.7 % of 150/);
  });

  test('of a brand without prompts or responses names the next step', async () => {
    const { query } = await openWorlds([[], [single([true], [])]]);
    const empty = reportPage(await readBrandReport(query, { id: worldId(9), name: 'Brand' }, 8), health);
    expect(empty).toContain('The brand has no prompts. Add prompts in the app');
    expect(empty).not.toContain('<figure>');
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
      const cut = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).length";
      expect(await page.evaluate(cut)).toBe(0);
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
