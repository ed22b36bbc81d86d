import type { Mutant } from './run-mutants.ts';

/** Faults of what a browser shows, which only its tests see. */
const inBrowser: readonly Mutant[] = [
  {
    file: 'src/web/app/pages/overview/ranking.tsx',
    from: "'visibility',\n  { name: 'visibility_change', label: 'Change' }",
    to: "{ name: 'visibility_before', label: 'Visibility' },\n  { name: 'visibility_change', label: 'Change' }",
    tests: ['test/web/data-pages.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/pages/overview/overview-tiles.tsx',
    from: "      to={linkTo('/explain', {}, { view: name })}\n",
    to: '',
    tests: ['test/web/page-use.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/pages/compare/side-picker.tsx',
    from: 'set({ a: b.id, b: a.id })',
    to: 'set({ a: a.id, b: b.id })',
    tests: ['test/web/data-pages.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/pages/competitors/competitor-prompts.tsx',
    from: "name: 'lead',",
    to: "name: 'competitor_only',\n    label: 'Lead',",
    tests: ['test/web/data-pages.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/pages/sources/domain-table.tsx',
    from: "{ name: 'citing_responses',",
    to: "{ name: 'responses', value: ({ citations }) => Number(citations),",
    tests: ['test/web/data-pages.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/components/data-table.tsx',
    from: "view.set('columns', ids",
    to: "view.set('column', ids",
    tests: ['test/web/data-pages.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/pages/responses/reader-steps.tsx',
    from: "key === 'k' || key === 'ArrowLeft'",
    to: "key === 'k' || key === 'ArrowUp'",
    tests: ['test/web/page-use.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/pages/traffic/traffic-tiles.tsx',
    from: '{...sumOf(rows, name)}',
    to: "{...sumOf(rows, 'sessions')}",
    tests: ['test/web/data-pages.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/components/table-view.ts',
    from: 'find.trim().toLocaleLowerCase()',
    to: 'find.trim()',
    tests: ['test/web/data-pages.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/state/data.tsx',
    from: 'const note = data?.upstream[name];',
    to: 'const note = data?.upstream[name.slice(1)];',
    tests: ['test/web/matrix/page-matrix.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/pages/fleet.tsx',
    from: "{ name: 'visibility', about:",
    to: "{ name: 'visibility', value: (row) => Number(row['visibility_n']), about:",
    tests: ['test/web/fleet-page.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/pages/sign-in.tsx',
    from: 'const OWN_PATH = /^\\/(?![/\\\\])/;',
    to: 'const OWN_PATH = /^\\//;',
    tests: ['test/web/setup-page.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/pages/operations/day-calendar.tsx',
    from: 'ArrowUp: -7,',
    to: 'ArrowUp: -1,',
    tests: ['test/web/operations-page.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/state/live.tsx',
    from: "report({ connection: 'lost' });",
    to: '',
    tests: ['test/web/operations-page.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/pages/sql/side/use-saved.ts',
    from: "etag === null ? { 'if-none-match': '*' } : {",
    to: "etag === null || sql !== '' ? { 'if-match': '*' } : {",
    tests: ['test/web/sql-page.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/pages/sql/use-sql.ts',
    from: "api.send('DELETE',",
    to: "api.send('GET',",
    tests: ['test/web/sql-page.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/styles/base.css',
    from: 'overflow-wrap: anywhere;',
    to: '',
    tests: ['test/web/matrix/page-matrix.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/pages/sources/sources.tsx',
    from: '<PageHead',
    to: '<h1>Sources</h1><PageHead',
    tests: ['test/web/matrix/page-matrix.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/components/markdown.tsx',
    from: '!/^https?:\\/\\//i.test(url)',
    to: "url === ''",
    tests: ['test/web/matrix/page-matrix.test.ts'],
    isBuilt: true,
  },
];

/** Faults of charts, of requests of the pages and of reports, which need no browser. */
const inNode: readonly Mutant[] = [
  {
    file: 'src/web/app/state/api.ts',
    from: 'if (flight.waiting > 0) return;',
    to: '',
    tests: ['test/web/app/api-client.test.ts'],
  },
  {
    file: 'src/web/app/state/filters.ts',
    from: 'range === null && from !== null && to !== null && from <= to;',
    to: 'range === null && from !== null && to !== null;',
    tests: ['test/web/app/filters.test.ts'],
  },
  {
    file: 'src/web/app/components/measured.tsx',
    from: 'change > 0 === isHigherBetter;',
    to: 'change > 0;',
    tests: ['test/web/app/components.test.tsx'],
  },
  {
    file: 'src/web/app/components/table-columns.tsx',
    from: 'const hasSign = !parts.shown.includes(`${name}_change`);',
    to: 'const hasSign = true;',
    tests: ['test/web/app/components.test.tsx'],
  },
  {
    file: 'src/web/app/components/table-tools.tsx',
    from: "filter(([value]) => value !== '')",
    to: 'filter(() => true)',
    tests: ['test/web/app/components.test.tsx'],
  },
  {
    file: 'src/web/app/components/table-view.ts',
    from: 'rows.some((row) => valueOf(row) !== null)',
    to: 'rows.length > 0',
    tests: ['test/web/app/components.test.tsx'],
  },
  {
    file: 'src/web/app/pages/sql/editor/name-completion.ts',
    from: "replaceAll('\"', '\"\"')",
    to: "replaceAll('\"', '')",
    tests: ['test/web/app/sql-parts.test.ts'],
  },
  {
    file: 'src/web/app/charts/time-series.ts',
    from: 'BANDS_MAX = 2',
    to: 'BANDS_MAX = 3',
    tests: ['test/web/app/charts-in-node.test.ts'],
  },
  {
    file: 'src/web/app/charts/svg-file.ts',
    from: "return text.replaceAll(/[^\\P{Cc}\\t\\n]|\\p{Cs}|[\\uFFFE\\uFFFF]/gu, ' ');",
    to: 'return text;',
    tests: ['test/web/chart-files.test.ts'],
    isBuilt: true,
  },
  {
    file: 'src/web/app/report/report-page.tsx',
    from: '{prompts === 0',
    to: '{prompts > 0',
    tests: ['test/web/odd-report.test.ts'],
    isBuilt: true,
  },
];

/** Faults of the server of the pages. */
const inServer: readonly Mutant[] = [
  {
    file: 'src/serve/pages/page-access.ts',
    from: "if (httpVersion === '1.0' || ",
    to: 'if (',
    tests: ['test/web/page-access.test.ts'],
  },
  {
    file: 'src/serve/pages/page-access.ts',
    from: '|cf-.+|',
    to: '|',
    tests: ['test/web/page-access.test.ts'],
  },
  {
    file: 'src/serve/pages/feed.ts',
    from: 'if (listener.isAllowed()) continue;',
    to: 'if (listener.isAllowed() || listeners.size > 0) continue;',
    tests: ['test/web/page-access.test.ts'],
  },
  {
    file: 'src/serve/pages/feed.ts',
    from: 'listeners.size >= listenersMax',
    to: 'listeners.size > listenersMax',
    tests: ['test/web/page-access.test.ts'],
  },
  {
    file: 'src/serve/pages/feed.ts',
    from: "(['data', 'jobs', 'keys'] as const)",
    to: "(['data', 'keys'] as const)",
    tests: ['test/web/status-data.test.ts'],
  },
  {
    file: 'src/serve/pages/budget-watch.ts',
    from: 'const known = budget.isDocumented && reportedLimit !== null;',
    to: 'const known = !budget.isDocumented && reportedLimit !== null;',
    tests: ['test/web/status-data.test.ts'],
  },
  {
    file: 'src/serve/pages/app-files.ts',
    from: '.filter(hasMediaType)',
    to: ".filter((name) => hasMediaType(name) || name !== '')",
    tests: ['test/web/page-files.test.ts'],
  },
  {
    file: 'src/serve/pages/report-files.ts',
    from: ' | constants.O_NOFOLLOW',
    to: '',
    tests: ['test/web/page-files.test.ts'],
  },
  {
    file: 'src/serve/pages/setup-handlers.ts',
    from: "typeof value === 'string' ? value.trim() : ''",
    to: '(value as string).trim()',
    tests: ['test/web/setup-page.test.ts'],
  },
  {
    file: 'src/web/reference/reference-files.ts',
    from: '"connect-src \'self\'",',
    to: '',
    tests: ['test/web/reference.test.ts'],
  },
  {
    file: 'src/read/shown-text.ts',
    from: 'characters.slice(0, charactersMax)',
    to: 'characters.slice(0, charactersMax + 2)',
    tests: ['test/web/shown-text.test.ts'],
  },
];

/** Faults of the exported models of MetricFlow. */
const inExports: readonly Mutant[] = [
  {
    file: 'src/metrics/exports/exported-datasets.ts',
    from: 'c.domain, count(*) AS cited',
    to: 'c.domain, count(DISTINCT c.url) AS cited',
    tests: ['test/metrics/exports.test.ts'],
  },
  {
    file: 'src/metrics/exports/exported-measures.ts',
    from: "voiced: sum('voices'),",
    to: "voiced: { agg: 'count', expr: 'voices' },",
    tests: ['test/metrics/exports.test.ts'],
  },
  {
    file: 'src/metrics/exports/exported-datasets.ts',
    from: "key: ['response_id', 'entity_id'],",
    to: "key: ['response_id'],",
    tests: ['test/metrics/exports.test.ts'],
  },
  {
    file: 'src/metrics/exports/exported-datasets.ts',
    from: 'AND m.competitor_id IS NOT DISTINCT FROM e.competitor_id',
    to: 'AND m.competitor_id = e.competitor_id',
    tests: ['test/metrics/exports.test.ts'],
  },
];

export const mutants: readonly Mutant[] = [...inBrowser, ...inNode, ...inServer, ...inExports];
