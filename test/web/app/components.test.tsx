import { renderToString } from 'preact-render-to-string';
import { expect, test } from 'vitest';
import { domainColumn, ownerColumn } from '../../../src/web/app/components/columns.tsx';
import { type ColumnSpec, DataTable } from '../../../src/web/app/components/data-table.tsx';
import { Delta, EmptyState, ErrorState, Timestamp } from '../../../src/web/app/components/parts.tsx';
import { Tabs } from '../../../src/web/app/components/tabs.tsx';
import { Tile } from '../../../src/web/app/components/tile.tsx';
import { ApiError } from '../../../src/web/app/state/api.ts';
import { readFilters } from '../../../src/web/app/state/filters.ts';
import { createFormat } from '../../../src/web/app/state/format.ts';
import { StaticRoute } from '../../../src/web/app/state/router.tsx';
import { type Scope, StaticScope } from '../../../src/web/app/state/scope.tsx';

const scope: Scope = {
  filters: readFilters(new URLSearchParams()),
  brands: { table: null, error: null, isLoading: false, retry: () => undefined },
  brandList: [],
  brand: { id: 'b', name: 'Brand' },
  range: { from: '2026-10-25', to: '2026-11-21' },
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

function html(children: preact.ComponentChildren): string {
  return renderToString(
    <StaticRoute route={route}>
      <StaticScope scope={scope}>{children}</StaticScope>
    </StaticRoute>,
  );
}

test('a change shows its direction, its interval and whether chance explains it', () => {
  const shown = html(
    <Delta change={-0.02} lower={-0.03} upper={-0.01} isSignificant={true} unit="ratio" isHigherBetter={true} />,
  );
  expect(shown).toContain('data-tone="bad"');
  expect(shown).toContain('▼');
  expect(shown).toContain('−2.0 pp');
  expect(shown).toContain('95 % interval −3.0 pp to −1.0 pp');
  const chance = html(<Delta change={0.02} isSignificant={false} unit="ratio" isHigherBetter={true} />);
  expect(chance).toContain('data-tone="neutral"');
  expect(chance).toContain('within chance');
  const position = html(<Delta change={-1} isSignificant={true} unit="position" isHigherBetter={false} />);
  expect(position).toContain('data-tone="good"');
  const count = html(<Delta change={7} isExact unit="count" isHigherBetter={null} />);
  expect(count).toContain('▲');
  expect(count).not.toMatch(/≈|not tested/);
  expect(html(<Delta change={null} unit="ratio" isHigherBetter={null} />)).toContain('no comparison');
});

test('a tile has its value, interval, sample and link', () => {
  const shown = html(
    <Tile title="Visibility" value={0.345} lower={0.3} upper={0.4} n={700} unit="ratio" to="/prompts" />,
  );
  for (const part of [
    '34.5\u202f%',
    '30.0\u202f% – 40.0\u202f%',
    'n = 700',
    'href="/w/one/prompts"',
    'data-value="0.345"',
  ]) {
    expect(shown).toContain(part);
  }
});

test('a table draws only the first of many rows, shows their number, and escapes texts', () => {
  const items = Array.from({ length: 5_000 }, (_, index) => ({
    id: String(index),
    name: `<script>${index}`,
    n: index,
  }));
  const columns: ColumnSpec<(typeof items)[number]>[] = [
    { id: 'name', label: 'Name', value: ({ name }) => name },
    { id: 'n', label: 'Number', unit: 'count', value: ({ n }) => n },
    { id: 'hidden', label: 'Hidden', value: () => 'x', isHidden: true },
  ];
  const sort = { id: 'n', isDescending: true };
  const shown = html(<DataTable caption="Things" items={items} columns={columns} keyOf={({ id }) => id} sort={sort} />);
  expect(shown).toContain('aria-rowcount="5001"');
  expect(shown).toContain('5,000 rows');
  expect(shown.match(/<tr/g)?.length).toBeLessThan(60);
  expect(shown).toContain('&lt;script>4999');
  expect(shown).not.toContain('<script>');
  expect(shown).toContain('aria-sort="descending"');
  expect(shown.match(/<th /g)).toHaveLength(2);
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

test('a column without values is left out, and an owner that is not known has no name', () => {
  const columns = [domainColumn((path) => path), ownerColumn()];
  const rows = (...owners: readonly string[]) => owners.map((owner, index) => ({ domain: `d${index}.example`, owner }));
  const shown = (items: ReturnType<typeof rows>): string =>
    html(
      <DataTable caption="Domains" items={items} columns={columns} keyOf={({ domain }) => String(domain)} isPlain />,
    );
  expect(shown(rows('unknown', 'unknown'))).not.toMatch(/Owner|unknown/);
  const known = shown(rows('owned', 'unknown'));
  expect(known).toContain('Owner');
  expect(known).toContain('data-owner="owned"');
  expect(known).not.toContain('unknown');
});
