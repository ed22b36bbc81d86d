import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { publishAnalytics } from '../../src/warehouse/replica.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';
import { createEmptyWarehouse } from '../support/empty-warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';
import { exactly, openWorlds, single } from '../support/period-worlds.ts';
import { type ReportDocument, writeReports } from './report-document.ts';

/** Time-ordered ids, as some databases generate them: ids created at the same time share their first digits. */
const [FIRST, SECOND] = ['0199a0b0-1111-7000-8000-000000000001', '0199a0b0-2222-7000-8000-000000000002'] as const;

const NAME = '日本</style></title><script>alert(1)</script>"\'&';

/** Reports of two brands with the same name and without a website; half of the responses of one have no engine. */
let reports: ReportDocument[];

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-odd-'));
  const path = join(folder, 'warehouse.duckdb');
  await createEmptyWarehouse(path, { hasMarts: true });
  const warehouse = await openWarehouse(path, catalogue, {});
  const { database } = warehouse;
  const quoted = NAME.replaceAll("'", "''");
  await database.exclusive((session) =>
    session.run(`INSERT INTO brands (id, name) VALUES ('${FIRST}', '${quoted}'), ('${SECOND}', '${quoted}');
      INSERT INTO responses (id, brand_id, engine, created_at, brand_mentioned)
        SELECT uuid(), '${FIRST}', if(n % 2 = 0, 'one', NULL), TIMESTAMP '2026-10-05' + n * INTERVAL 3 HOUR, n % 3 = 0
        FROM range(300) t(n);
      INSERT INTO response_citations (response_id, brand_id, engine, created_at, ordinal, url, domain)
        SELECT id, brand_id, engine, created_at, 0, 'https://own.example/', 'own.example' FROM responses;
      INSERT INTO forum_opportunities (id, brand_id, title, url, status, created_at) VALUES
        (uuid(), '${FIRST}', '${quoted}', 'javascript:alert(1)', 'new', now()),
        (uuid(), '${FIRST}', '${quoted}', 'https://forum.example/?a="b"', 'new', now())`),
  );
  const published = join(folder, 'published');
  await mkdir(published);
  await publishAnalytics(database, join(published, 'analytics.duckdb'));
  await warehouse.close();
  reports = await writeReports({ name: 'odd', folder: published });
  await rm(folder, { recursive: true, force: true });
});

test('each brand has its own report, even with equal names and similar ids', () => {
  expect(reports.map(({ written }) => written.brandId).sort()).toEqual([FIRST, SECOND]);
  expect(new Set(reports.map(({ written }) => written.page)).size).toBe(2);
  for (const { text } of reports) expect(text).toContain('日本');
});

test('unknown values are not reported as zero', () => {
  const [report] = reports;
  expect(report?.tile('Visibility')).toBeGreaterThan(0.3);
  // No response has a position or a sentiment, and without a website the brand's own pages are unknown.
  for (const title of ['Position', 'Sentiment', 'Own citations']) {
    expect(report?.tile(title), title).toBeNull();
    expect(report?.block(title), title).toContain('–');
  }
  expect(
    report
      ?.rows('Engines')
      .map(([engine]) => engine)
      .sort(),
  ).toEqual(['one', 'unknown']);
  expect(report?.block('Citations by owner')).toContain('It is not known whose the cited domains are');
});

test('names and titles of upstream are text, and only addresses of the web are links', () => {
  const [report] = reports;
  expect(report?.text).not.toMatch(/<script/i);
  expect(report?.text.match(/<\/style>/g)).toHaveLength(1);
  expect(report?.block('Forum threads to answer')).toContain(NAME);
  const links = [...(report?.text ?? '').matchAll(/href="([^"]*)"/g)].map(([, url = '']) => url);
  expect(links.filter((url) => !url.startsWith('#'))).toEqual(['https://forum.example/?a=&quot;b&quot;']);
});

test('a brand without prompts or responses gets the next step instead of numbers', () => {
  const report = reports.find(({ written }) => written.brandId === SECOND);
  expect(report?.block('Next step')).toContain('The brand has no prompts. Add prompts in the app');
  expect(report?.text).not.toContain('<svg');
  expect(report?.block('Articles')).toContain('No articles.');
});

test('only significant changes of prompts are listed, with both shares and samples', async () => {
  const folder = await temporaryFolder();
  const { publish } = await openWorlds([
    [
      single(exactly(10, 50), exactly(40, 50).reverse(), 0),
      single(exactly(30, 50), exactly(28, 50).reverse(), 1),
      single(exactly(30, 50), exactly(0, 50), 2),
    ],
  ]);
  await publish(join(folder, 'analytics.duckdb'));
  // The worlds have two periods of 28 days from 5 January.
  const range = { from: '2026-02-02', to: '2026-03-01' };
  const [report] = await writeReports({ name: 'worlds', folder }, { range });
  const moved = report?.rows('Prompts that moved') ?? [];
  expect(moved.map(([prompt, before, now, change]) => [prompt, before, now, Number(change).toFixed(3)])).toEqual(
    expect.arrayContaining([
      ['Prompt 0', '0.2', '0.8', '0.600'],
      ['Prompt 2', '0.6', '0', '-0.600'],
    ]),
  );
  expect(report?.block('Prompts that moved')).toContain('n = 50, 50 before');
  expect(moved).toHaveLength(2);
  expect(report?.rows('Lost prompts').map(([prompt, earlier, since]) => [prompt, earlier, since])).toEqual([
    ['Prompt 2', '1', '70'],
  ]);
  expect(report?.block('Lost prompts')).toContain('n = 30');
  expect(report?.tile('Visibility')).toBeCloseTo(68 / 150, 12);
  expect(report?.block('Visibility')).toContain('≈');
  expect(report?.block('Visibility')).toContain('n = 150');
});
