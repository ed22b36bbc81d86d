import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shownDays } from '../../src/contract/time.ts';
import type { WrittenReport } from '../../src/operations/write-report.ts';
import { BRAND_HINT, type CliWorkspace, expectRefusal, openCliFor } from '../cli/helpers.ts';
import { noBrowser } from '../support/browser.ts';
import { describeWith } from '../support/needs.ts';
import { expectUsable, openPage } from './open-page.ts';
import { readReport } from './report-document.ts';
import { serverBefore, worldBefore } from './support.ts';

/** Titles of the blocks with charts, and the names of their files. */
const CHARTS = {
  'Visibility over time': 'visibility-over-time',
  'Visibility by engine': 'visibility-by-engine',
  'Share of voice over time': 'share-of-voice-over-time',
  'Sentiment labels over time': 'sentiment-labels-over-time',
} as const;

let workspace: CliWorkspace & { close: () => Promise<void> };
let reports: WrittenReport[];

beforeAll(async () => {
  workspace = await openCliFor({ world: 'fractions' });
  ({ reports } = await workspace.json<{ reports: WrittenReport[] }>('report', '--png'));
});

afterAll(() => workspace.close());

describe('sightline report', () => {
  test('writes a page, and each chart as SVG and PNG, for each brand', async () => {
    const { data, rows } = workspace;
    const brands = await rows('select id, name from brands');
    expect(new Map(reports.map(({ brandId, name }) => [brandId, name]))).toEqual(
      new Map(brands.map(({ id, name }) => [id, name])),
    );
    for (const { page, charts } of reports) {
      expect(dirname(page)).toBe(join(data, 'reports'));
      const names = charts.map((chart) => basename(chart));
      for (const name of Object.values(CHARTS))
        expect(names).toEqual(expect.arrayContaining([`${name}.svg`, `${name}.png`]));
      for (const chart of charts.filter((path) => path.endsWith('.svg'))) {
        expect(await readFile(chart, 'utf8')).toMatch(/^<svg [\s\S]*<\/svg>$/);
      }
    }
    expect((await readdir(join(data, 'reports'))).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  test('begins with the brief and its contents, and has no script and no reference to another file', async () => {
    for (const { page } of reports) {
      const text = await readFile(page, 'utf8');
      const blocks = [...text.matchAll(/<(?:section|nav)[^>]* aria-label="([^"]*)"/g)].map(([, label]) => label);
      expect(blocks.slice(0, 3)).toEqual(['Brief', 'Contents', 'Visibility']);
      expect(text).toMatch(/aria-label="Brief".*?<p class="headline"[^>]*>Visibility (is|rose|fell) /s);
      expect(text).not.toMatch(/<(script|link|img|iframe|object|button|dialog)\b|\ssrc=|\son\w+=|url\(|@import/i);
      expect(text.length).toBeLessThan(600_000);
      // A table behind each chart.
      for (const title of Object.keys(CHARTS)) expect(text).toContain(`aria-label="Values of ${title}"`);
    }
  });

  test('accepts --brand, --from, --to, --compare, --link, --weeks and --output, and replaces existing files', async () => {
    const { run, rows, folder } = workspace;
    const [{ brandId, page: first } = { brandId: '', page: '' }] = reports;
    const [days] = await rows(
      `select max(created_at)::date - 20 as first, max(created_at)::date - 10 as last from responses where brand_id = '${brandId}'`,
    );
    const [from, to] = [String(days?.['first']), String(days?.['last'])];
    const args = ['report', '--brand', brandId.toUpperCase(), '--from', from, '--to', to, '--compare', 'none'];
    args.push('--link', 'https://sightline.example/w/one/', '--weeks', '4', '--output', 'out');
    const page = join(folder, 'out', basename(first));
    await mkdir(dirname(page));
    await writeFile(page, 'an older report');
    const written = await run(...args);
    expect(written.code, written.stderr).toBe(0);
    expect(written.stdout.trim()).toBe(page);
    expect((await readdir(join(folder, 'out'))).sort()).toEqual([basename(page, '.html'), basename(page)].sort());
    const text = await readFile(page, 'utf8');
    expect(text).toContain(`${shownDays(from, to)}, without a comparison`);
    expect(text).toContain(`href="https://sightline.example/w/one/prompts?brand=${brandId}`);
    const [counted] = await rows(
      `select avg(brand_mentioned::int) as visibility from responses where brand_id = '${brandId}' and _deleted_at is null
       and created_at >= '${from}' and created_at < '${to}'::date + 1`,
    );
    const value = /aria-label="Visibility" [^>]*>.*?data-value="([^"]+)"/s.exec(text)?.[1];
    expect(Number(value)).toBeCloseTo(Number(counted?.['visibility']), 12);
  });

  test('rejects unknown brands', async () => {
    const unknown = '00000000-0000-4000-8000-000000000000';
    expectRefusal(await workspace.run('report', '--brand', unknown, '--json'), 'usage', true, BRAND_HINT);
  });

  test('has the newest alert, action plan, forum thread and article of the brand', async () => {
    const [{ brandId, page } = { brandId: '', page: '' }] = reports;
    const text = await readFile(page, 'utf8');
    const current = `brand_id = '${brandId}'`;
    for (const [title, sql] of [
      ['Alerts', `headline as text from mart.fct_alert where ${current} order by detected_at desc`],
      [
        'Action plans',
        `prompt as text from action_plans where ${current} and _deleted_at is null order by lost desc, prompt`,
      ],
      [
        'Forum threads to answer',
        `url as text from mart.fct_forum where ${current} and status = 'new' order by created_at desc`,
      ],
      ['Articles', `coalesce(title, 'untitled') as text from articles where ${current} order by created_at desc`],
    ] as const) {
      const [row] = await workspace.rows(`select ${sql} limit 1`);
      const first = String(row?.['text']).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
      expect(new RegExp(`aria-label="${title}".*?</table>`, 's').exec(text)?.[0], title).toContain(first);
    }
  });
});

describe('the report of a workspace with shares as fractions', () => {
  const server = serverBefore(worldBefore('fractions'));

  test('has the numbers of /v1 and of the pages', async () => {
    const report = await readReport(reports[0] as WrittenReport);
    const { brandId } = report.written;
    const metrics = (search: string) => server().records(`/data/metrics?brand=${brandId}&${search}`);
    const [row = {}] = await metrics('metrics=visibility,share_of_voice,position,sentiment,owned_citations');
    for (const [title, name] of [
      ['Visibility', 'visibility'],
      ['Share of voice', 'share_of_voice'],
      ['Position', 'position'],
      ['Sentiment', 'sentiment'],
      ['Own citations', 'owned_citations'],
    ] as const)
      expect(report.tile(title), title).toBe(row[name]);
    const { from, to } = await server().json<{ from: string; to: string }>(
      `/data/metrics?brand=${brandId}&metrics=visibility`,
    );
    const { data } = await server().json<{ data: { competitorId: string | null; visibility: number }[] }>(
      `/v1/brands/${brandId}/metrics?from=${from}&to=${to}`,
    );
    const own = data.find(({ competitorId }) => competitorId === null)?.visibility ?? Number.NaN;
    // Fractions have three decimals.
    expect(Math.abs((report.tile('Visibility') ?? 0) - own)).toBeLessThanOrEqual(0.0005 + 1e-9);
    const engines = await metrics('metrics=visibility&group_by=engine&order=engine');
    expect(report.rows('Engines').map(([, visibility, n]) => [Number(visibility), Number(n)])).toEqual(
      engines.map((engine) => [engine['visibility'], engine['visibility_n']]),
    );
  });
});

describeWith(noBrowser)('the report in a browser', () => {
  test('is accessible, has the charts of its width, and requests nothing', async () => {
    const page = await openPage(pathToFileURL(reports[0]?.page ?? '').href);
    for (const [width, shown, hidden] of [
      [1280, 'wide', 'narrow'],
      [375, 'narrow', 'wide'],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.locator(`.${shown} > svg:visible`).count()).toBeGreaterThanOrEqual(Object.keys(CHARTS).length);
      expect(await page.locator(`.${hidden} > svg:visible`).count()).toBe(0);
    }
    for (const chart of await page.getByRole('img').all()) expect(await chart.getAttribute('aria-label')).toMatch(/\S/);
    await expectUsable(page);
  });
});
