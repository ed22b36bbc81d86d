import { parseHTML } from 'linkedom';
import { renderToString } from 'preact-render-to-string';
import { expect, test } from 'vitest';
import { OPPORTUNITY_TITLES } from '../../../src/metrics/explain/opportunity-kinds.ts';
import { promptEnd } from '../../../src/metrics/explain/sentences.ts';
import { LOST_PROMPTS_BLOCK, opportunitiesOf } from '../../../src/read/metrics/result-pages.ts';
import { idOf } from '../../../src/web/app/components/block-menu.tsx';
import { DataTable } from '../../../src/web/app/components/data-table.tsx';
import { Mark } from '../../../src/web/app/components/measured.tsx';
import { EmptyState, ErrorState, Timestamp } from '../../../src/web/app/components/parts.tsx';
import { facetOf } from '../../../src/web/app/components/table-view.ts';
import { Tabs } from '../../../src/web/app/components/tabs.tsx';
import { Tile } from '../../../src/web/app/components/tile.tsx';
import { LOST_PROMPTS } from '../../../src/web/app/pages/competitors/lost-prompts.tsx';
import { withoutPrompt } from '../../../src/web/app/pages/opportunities/what-to-do.tsx';
import { ApiError, createApi } from '../../../src/web/app/state/api.ts';
import { ApiContext } from '../../../src/web/app/state/data.tsx';
import { readFilters } from '../../../src/web/app/state/filters.ts';
import { createFormat } from '../../../src/web/app/state/format.ts';
import { PaperContext } from '../../../src/web/app/state/paper.ts';
import { StaticRoute } from '../../../src/web/app/state/router.tsx';
import { type Scope, StaticScope } from '../../../src/web/app/state/scope.tsx';

const scope: Scope = {
  filters: readFilters(new URLSearchParams()),
  brands: { table: null, error: null, isLoading: false, retry: () => undefined },
  brandList: [],
  brand: { id: 'b', name: 'Brand', site: 'brand.example', firstDay: null, lastDay: null, prompts: 0 },
  range: { from: '2026-10-25', to: '2026-11-21' },
  grain: 'day',
  problem: null,
  params: null,
  engines: [],
  topics: [],
  tags: [],
  competitors: [],
  format: createFormat(),
  setFilters: () => undefined,
  linkTo: (path) => path,
  engineLabel: (slug) => slug,
  engineColour: () => 1,
  entityColour: () => 0,
};

const route = { base: '/w/one', path: '/', search: new URLSearchParams(), navigate: () => undefined };

function html(children: preact.ComponentChildren, search = ''): string {
  return renderToString(
    <ApiContext.Provider value={createApi('/w/one')}>
      <StaticRoute route={{ ...route, search: new URLSearchParams(search) }}>
        <StaticScope scope={scope}>{children}</StaticScope>
      </StaticRoute>
    </ApiContext.Provider>,
  );
}

test('the brief links to the block of lost prompts, and to the opportunities of a kind', () => {
  expect(LOST_PROMPTS_BLOCK).toBe(idOf(LOST_PROMPTS.title));
  expect(opportunitiesOf('source_gap').more).toEqual({ [facetOf('kind')]: OPPORTUNITY_TITLES.source_gap });
});

test('a table that is one block of several shows its first 25 rows and offers the others', () => {
  const rows = Array.from({ length: 30 }, (_, index) => ({ name: `row ${index}` }));
  const table = (isMain: boolean): string =>
    html(<DataTable caption="Rows" columns={['name']} rows={rows} isMain={isMain} />);
  expect(table(false)).toContain('Show all 30');
  expect(table(true)).not.toContain('Show all');
});

test('a share that would be rounded to zero is not shown as zero', () => {
  const { value } = createFormat();
  expect([0, 0.0004, 0.0006].map((share) => value(share, 'ratio'))).toEqual([
    '0.0\u202f%',
    '< 0.1\u202f%',
    '0.1\u202f%',
  ]);
});

test('the sentence of a prompt that a competitor wins does not repeat the prompt', () => {
  const name = 'Which bank  is best?';
  const sentence = `4 of 5 responses mention Acme but not the brand${promptEnd(name)}`;
  expect(withoutPrompt({ kind: 'competitor_wins', name, sentence })).toBe(
    '4 of 5 responses mention Acme but not the brand.',
  );
});

test('a change shows its direction and its size, and whether chance explains it', () => {
  const mark = (
    change: number,
    isSignificant: boolean | null,
    more: Partial<Parameters<typeof Mark>[0]> = {},
  ): string => html(<Mark change={{ change, isSignificant }} unit="ratio" isHigherBetter={true} {...more} />);
  const fell = mark(-0.019, true);
  for (const part of ['data-tone="bad"', '▼', '>1.9<', 'fell by']) expect(fell).toContain(part);
  const chance = mark(0.004, false);
  for (const part of ['data-tone="neutral"', '≈', '+0.4', 'no clear change']) expect(chance).toContain(part);
  expect(chance).not.toMatch(/chance|▲/);
  expect(mark(-0.004, null)).toContain('−0.4');
  // A position falls when it improves.
  const position = mark(-0.21, true, { unit: 'position', isHigherBetter: false });
  for (const part of ['data-tone="good"', '▲', '>0.21<', 'fell by']) expect(position).toContain(part);
  const rival = mark(0.039, true, { isHigherBetter: null });
  for (const part of ['data-tone="neutral"', '▲', '>3.9<']) expect(rival).toContain(part);
  const count = mark(33, null, { unit: 'count', isHigherBetter: null, countBefore: 150 });
  for (const part of ['▲', '>22.0\u202f%<']) expect(count).toContain(part);
  expect(mark(7, null, { unit: 'count', countBefore: 0 })).toContain('>7<');
});

const statistic = {
  value: 0.345,
  lower: 0.3,
  upper: 0.4,
  n: 700,
  before: 0.4,
  beforeSample: 650,
  change: { change: -0.055, lower: -0.1, upper: -0.01, isSignificant: true },
  p: 0.031,
};

test('a tile has its value, change and link, and in a report its interval and sample', () => {
  const tile = <Tile title="Visibility" {...statistic} unit="ratio" isHigherBetter to="/prompts" table={null} />;
  const shown = html(tile);
  for (const part of ['34.5\u202f%', '▼', 'href="/w/one/prompts"', 'data-value="0.345"']) expect(shown).toContain(part);
  expect(shown).not.toMatch(/700|0\.031/);
  const { document } = parseHTML('<!doctype html><html></html>');
  const paper = { document: document as unknown as Document, keep: () => undefined };
  const written = html(<PaperContext.Provider value={paper}>{tile}</PaperContext.Provider>);
  for (const part of ['34.5\u202f%', '30.0 to 40.0\u202f%', 'n = 700']) expect(written).toContain(part);
});

test('a table says how many of its rows changed beyond chance', () => {
  const sentence = (verdicts: readonly (boolean | null)[], measures = ['share']): string | undefined => {
    const rows = verdicts.map((verdict, index) => ({
      prompt: String(index),
      ...Object.fromEntries(
        measures.flatMap((name) => [
          [name, 0.345],
          [`${name}_change`, -0.055],
          [`${name}_significant`, verdict],
        ]),
      ),
    }));
    const columns = ['prompt', ...measures.flatMap((name) => [name, `${name}_change`])];
    const shown = html(<DataTable caption="Things" rows={rows} columns={columns} />);
    return /change-sentence">([^<]*)/.exec(shown)?.[1];
  };
  expect(sentence([true, false, null])).toBe('1 of 3 prompts changed beyond chance.');
  expect(sentence([false])).toBe('No change beyond chance.');
  expect(sentence([false, null])).toBe('None of 2 prompts changed beyond chance.');
  expect(sentence([null, null])).toBeUndefined();
  expect(sentence([true, true], ['share', 'position'])).toBe(
    'Of 2 prompts, these changed beyond chance: share 2, position 2.',
  );
});

test('a table draws only the first of many rows, counts its facets, and escapes texts', () => {
  const rows = Array.from({ length: 5_000 }, (_, index) => ({
    name: `<script>${index}`,
    size: index,
    owner: index < 7 ? 'owned' : 'unknown',
    none: null,
  }));
  const table = (
    <DataTable
      caption="Things"
      rows={rows}
      described={[{ name: 'size', type: 'BIGINT', about: 'Its size.' }]}
      columns={['name', 'size', 'none']}
      hidden={['owner']}
      facets={['owner']}
      sort="-size"
      isMain
    />
  );
  const shown = html(table);
  // The filters of the page have names of columns too.
  expect(html(table, 'owner=owned')).toBe(shown);
  expect(html(table, 'only.owner=owned')).toContain('7 of 5,000 rows');
  for (const part of ['aria-rowcount="5001"', '5,000 rows', '&lt;script>4999', 'aria-sort="descending"', 'Its size.'])
    expect(shown).toContain(part);
  expect(shown.match(/<tr/g)?.length).toBeLessThan(60);
  expect(shown).not.toContain('<script>');
  // A column without values is left out, and an owner that is not known has no name.
  expect(shown.match(/<th /g)).toHaveLength(2);
  expect(shown.match(/class="chip"/g)).toHaveLength(1);
  expect(shown).toMatch(/owned<\/span> <em>7</);
});

test('a change beyond chance has one sign, and phones show it with its value', () => {
  const row = { domain: 'a.example', owner: 'owned', share: 0.345, share_lower: 0.3, share_upper: 0.4 };
  const rows = [{ ...row, size: 7, share_change: -0.055, share_significant: true }];
  const shown = (columns: readonly string[]) => html(<DataTable caption="Domains" rows={rows} columns={columns} />);
  for (const columns of [
    ['domain', 'owner', 'share'],
    ['domain', 'share', 'share_change'],
  ])
    expect(shown(columns).match(/▼/g), columns.join()).toHaveLength(1);
  expect(shown(['domain', 'size', 'share', 'share_change'])).toMatch(/data-part="value" data-label="Share"/);
  expect(shown(['domain', 'owner'])).toContain('data-owner="owned"');
});

test('errors, missing data, times and views have their texts', () => {
  const failed = new ApiError(503, 'busy', 'The server is busy.', 'r-1');
  const error = html(<ErrorState error={failed} retry={() => undefined} />);
  for (const part of ['role="alert"', 'The server is busy.', 'busy', 'r-1', 'Try again']) expect(error).toContain(part);
  expect(html(<ErrorState error={new ApiError(401, 'unauthorized', 'key', null)} />)).toContain('/w/one/sign-in');
  expect(html(<EmptyState>Nothing yet.</EmptyState>)).toContain('Nothing yet.');
  const time = html(<Timestamp time="2026-11-22T02:15:00Z" />);
  expect(time).toContain('2:15');
  expect(time).toContain('UTC');
  expect(time).toContain('your time');
  const tabs = [
    { id: 'a', label: 'One', to: '/a' },
    { id: 'b', label: 'Two', to: '/b' },
  ];
  expect(html(<Tabs label="Views" tabs={tabs} current="b" />)).toMatch(
    /<a [^>]*href="\/w\/one\/b"[^>]*aria-current="page"/,
  );
});
