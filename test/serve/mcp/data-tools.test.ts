import { describe, expect, it } from 'vitest';
import { addDays, dayOf } from '../../../src/contract/time.ts';
import { dimensions } from '../../../src/metrics/model/dimensions.ts';
import { measures } from '../../../src/metrics/model/measures.ts';
import { createSqlService } from '../../../src/operations/sql/sql-service.ts';
import { explainMetric, listChanges } from '../../../src/read/metrics/explanations.ts';
import { runMetrics } from '../../../src/read/metrics/run-metrics.ts';
import type { MetricsSource, TableResult } from '../../../src/read/metrics/table-result.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { NOW_MS } from '../../support/clocks.ts';
import { openWorldService, sharedBefore, stillClock } from '../served-world.ts';
import { askChecked, serveBefore } from './serve-before.ts';
import type { Body, Called } from './support.ts';

/** Bytes of the description of a table, of the list of tables, and of the list of metrics. */
const DESCRIBED_BYTES_MAX = 4_300;
const METRICS_BYTES_MAX = 6_500;
const world = serveBefore('small');
const layer = sharedBefore(async (closeLater) => {
  const service = openWorldService(world().config);
  closeLater(service.close);
  const source: MetricsSource = { replica: await service.newest(), catalogue, nowMs: NOW_MS };
  return { source, syncedAtMs: (await service.freshness()).syncedAt ?? 0 };
});
const source = () => layer().source;

const today = dayOf(NOW_MS);
const [from, to] = [addDays(today, -4), addDays(today, -2)];
const LONG_AGO = addDays(today, -300);
const brandName = (): string => world().brands[0]?.name ?? '';

const ask = (name: string, values: Record<string, unknown> = {}): Promise<Called> => askChecked(world(), name, values);

const plain = (value: unknown): Body => JSON.parse(JSON.stringify(value));

function parameters(values: Readonly<Record<string, string | readonly string[]>>): URLSearchParams {
  return new URLSearchParams(
    Object.entries(values).flatMap(([name, of]) => [of].flat().map((one): [string, string] => [name, one])),
  );
}

/** Whether a number is the other one, rounded to 4 significant digits. */
function isRounded(shown: unknown, exact: unknown): boolean {
  if (typeof exact !== 'number' || typeof shown !== 'number') return Object.is(shown, exact);
  return String(shown).replace(/e.*$|^-?0\.0*|\D/g, '').length <= 4 || Number.isInteger(exact)
    ? Math.abs(shown - exact) <= Math.abs(exact) * 0.000501
    : false;
}

const REQUESTS: readonly Record<string, string | string[]>[] = [
  { metrics: 'visibility' },
  { metrics: ['visibility', 'position', 'mentions'], group_by: ['brand', 'engine'], grain: 'week', from, to },
  { metrics: 'visibility', group_by: 'engine', compare_to: 'previous', from, to },
  { metrics: 'share_of_voice', group_by: ['brand', 'entity'], order: '-share_of_voice', limit: '7' },
  { metrics: 'citations', group_by: 'domain', limit: '20', from, to },
  { metrics: 'visibility', group_by: 'prompt', compare_to: 'year' },
  { metrics: 'responses', grain: 'day', from: LONG_AGO, to: today },
];

/** Returns the arguments of the tool and the result of the layer below it. */
async function computed(request: Readonly<Record<string, string | string[]>>): Promise<{
  given: Record<string, unknown>;
  below: TableResult;
}> {
  const given = 'limit' in request ? { ...request, limit: Number(request['limit']) } : { ...request };
  for (const name of ['metrics', 'group_by', 'order'])
    if (name in given) Object.assign(given, { [name]: [request[name]].flat() });
  const below = await runMetrics(source(), parameters({ compare_to: 'none', limit: '200', ...request }));
  expect(below.rows.length, JSON.stringify(request)).toBeGreaterThan(0);
  return { given, below };
}

/** Checks that a result has the rows rounded to 4 significant digits, with bounds joined to intervals, and no id that has a name. */
function expectRounded(
  { columns, rows }: { columns: string[]; rows: unknown[][] },
  names: string[],
  exact: Body,
): void {
  for (const [id, name] of [
    ['brand_id', 'brand'],
    ['topic_id', 'topic'],
    ['competitor_id', 'entity'],
  ] as const)
    if (columns.includes(name)) expect(columns).not.toContain(id);
  for (const key of ['brand', 'engine', 'entity', 'domain', 'prompt', 'day', 'week'])
    if (names.includes(key)) expect(columns).toContain(key);
  for (const [index, row] of rows.entries()) {
    expect(row).toHaveLength(columns.length);
    for (const [place, column] of columns.entries()) {
      const bounds = /^(.*)_interval$/.exec(column)?.[1];
      const of = bounds === undefined ? [column] : [`${bounds}_lower`, `${bounds}_upper`];
      const values = bounds === undefined ? [row[place]] : ((row[place] as unknown[] | null) ?? [null, null]);
      for (const [at, name] of of.entries()) {
        const value = exact[index][names.indexOf(name)];
        expect(isRounded(values[at], value), `${column}: ${values[at]} for ${value}`).toBe(true);
      }
    }
  }
}

describe('query_metrics', () => {
  it('with exact returns the columns and rows of the metrics layer; without, rounded numbers, intervals and names', async () => {
    const partial = new Set<boolean>();
    for (const request of REQUESTS) {
      const { given, below } = await computed(request);
      const { shown, note, remarks } = await ask('query_metrics', { ...given, exact: true, max_tokens: 20_000 });
      expect(shown.columns).toEqual(below.columns.map(({ name }) => name));
      const rows = plain(below.rows);
      expect(shown.rows).toEqual(rows.slice(0, shown.rows.length));
      expect(shown.rows.length === rows.length).toBe(!/too long/.test(note.omitted ?? ''));
      expect(shown.about).toBe([below.about, below.notCompared ?? []].flat().join(' '));
      const coverage = below.partial ? 'partial' : 'complete';
      expect(note).toMatchObject({ asOf: below.asOf, completeTo: below.completeTo, coverage });
      expect(remarks.includes('Some data were never read completely')).toBe(below.partial);
      partial.add(below.partial);
      expectRounded((await ask('query_metrics', { ...given, max_tokens: 20_000 })).shown, shown.columns, rows);
    }
    expect(partial).toEqual(new Set([true, false]));
  });

  it('has n and the interval of each share, the tested change, and the definition of each measure', async () => {
    const { shown } = await ask('query_metrics', { metrics: ['visibility'], compare_to: 'previous', from, to });
    expect(shown.columns).toEqual([
      'visibility',
      'visibility_interval',
      'visibility_n',
      'visibility_before',
      'visibility_before_n',
      'visibility_change',
      'visibility_change_interval',
      'visibility_p_adjusted',
      'visibility_significant',
    ]);
    const definition = measures.find(({ name }) => name === 'visibility');
    expect(shown.definitions.visibility).toMatchObject({
      formula: definition?.formula,
      unit: definition?.unit,
      n: 'responses',
    });
    expect(shown).not.toHaveProperty('sql');
    const { shown: traced } = await ask('query_metrics', {
      metrics: ['visibility'],
      from,
      to,
      include_sql: true,
      exact: true,
    });
    const repeated = await ask('query', { sql: traced.sql });
    expect(repeated.shown.rows).toEqual(traced.rows);
  });
});

describe('the other tools', () => {
  it('list_metrics lists every measure and dimension', async () => {
    const { shown } = await ask('list_metrics');
    expect(shown.metrics.map(({ name }: Body) => name)).toEqual(measures.map(({ name }) => name));
    expect(Object.keys(shown.dimensions)).toEqual(dimensions.map(({ name }) => name));
    expect(Buffer.byteLength(JSON.stringify(shown))).toBeLessThan(METRICS_BYTES_MAX);
  });

  it('explain_change returns the explanation of the metrics layer', async () => {
    for (const metric of ['visibility', 'share_of_voice']) {
      const below = await explainMetric(source(), parameters({ metric, brand: brandName(), from, to }));
      const { shown, note } = await ask('explain_change', { metric, brand: brandName(), from, to, max_tokens: 20_000 });
      expect(shown.summary).toBe(below.summary);
      expect(shown.causes.map(({ sentence }: Body) => sentence)).toEqual(below.causes.map(({ sentence }) => sentence));
      expect(shown.causes.map(({ evidence }: Body) => evidence)).toEqual(
        plain(below.causes.map(({ evidence }) => evidence)),
      );
      expect(shown.effects.map(({ dimension }: Body) => dimension)).toEqual(
        below.dimensions.map(({ dimension }) => dimension),
      );
      for (const [index, { mix, rate, rows, others }] of shown.effects.entries()) {
        const { members, ...effect } = below.dimensions[index] as (typeof below.dimensions)[number];
        expect(isRounded(mix, plain(effect.mix)) && isRounded(rate, plain(effect.rate))).toBe(true);
        expect(rows.length + others).toBe(members.length);
      }
      expect(note).toMatchObject({ asOf: below.asOf, coverage: below.partial ? 'partial' : 'complete' });
    }
  });

  it('what_changed reports the true counts of changes that its limit leaves out, and when upstream was read', async () => {
    const since = addDays(today, -20);
    const { counts } = await listChanges(source(), parameters({ since }));
    const [[kind, count] = ['', 0]] = Object.entries(counts).toSorted(([, a], [, b]) => b - a);
    expect(count).toBeGreaterThan(1);
    const { shown, note } = await ask('what_changed', { since, kind: [kind], limit: 1 });
    expect(shown.counts).toEqual({ [kind]: count });
    expect(shown.changes.map((change: string[]) => change[1])).toEqual([kind]);
    expect(note.asOf).toBe(new Date(layer().syncedAtMs).toISOString());
    expect(note.omitted).toContain(`These are the first 1 of ${count} rows`);
  });

  it('query, list_tables and describe_table return rows and tables of guarded SQL within their sizes', async () => {
    const sql = createSqlService({ path: world().copy, catalogue, clock: stillClock });
    const { signal } = new AbortController();
    const caller = { session: 'test', brands: null };
    const question = 'SELECT brand_id, engine, count(*) AS n FROM responses GROUP BY ALL ORDER BY ALL';
    const below = await sql.run(caller, { sql: question, rowsMax: 100 }, signal);
    const { shown, note } = await ask('query', { sql: question, limit: 2 });
    expect(shown.rows).toEqual(plain(below.rows.slice(0, 2)));
    expect(shown.columns).toEqual(below.columns.map(({ name, type }) => `${name} ${type}`));
    expect(note).toMatchObject({ asOf: below.asOf, completeTo: below.completeTo });
    expect(note.omitted).toContain(`These are the first 2 of ${below.rows.length} rows`);
    const { tables } = await sql.schema(caller, signal);
    await sql.close();
    const nameOf = ({ schema, name }: (typeof tables)[number]): string =>
      schema === 'main' ? name : `${schema}.${name}`;
    const listed = await ask('list_tables');
    const names = listed.shown.tables.map((line: string) => line.split(': ')[0]);
    expect(names).toEqual(tables.map(nameOf).filter((name) => !/^sync\.|_history$/.test(name)));
    for (const line of listed.shown.tables) expect(line).toMatch(/^[\w.]+: [A-Z].+/);
    expect(Buffer.byteLength(listed.text)).toBeLessThanOrEqual(DESCRIBED_BYTES_MAX);
    expect(listed.remarks).toContain(`${tables.length - names.length} more tables`);
    const found = await ask('list_tables', { search: 'coverage' });
    expect(found.shown.tables.map((line: string) => line.split(': ')[0])).toContain('sync.coverage');
    for (const table of tables) {
      const described = await ask('describe_table', { table: nameOf(table) });
      expect(described.shown.columns).toEqual(table.columns.map(({ name, type, about }) => [name, type, about]));
      expect(described.note).not.toHaveProperty('omitted');
      expect(Buffer.byteLength(described.text), nameOf(table)).toBeLessThanOrEqual(DESCRIBED_BYTES_MAX);
    }
  });

  it('are documented as resources for callers with the scope sql, including marts', async () => {
    const read = async (uri: string): Promise<string> => {
      const { contents } = await world().client.readResource({ uri });
      return (contents[0] as { text: string }).text;
    };
    const { shown } = await ask('describe_table', { table: 'visibility_weekly' });
    const text = await read('sightline://table/mart.visibility_weekly');
    expect(text).toContain(`# mart.visibility_weekly\n\n${shown.about}\n`);
    for (const [name, type, about] of shown.columns) expect(text).toContain(`| \`${name}\` | ${type} | ${about} |`);
    expect(await read('sightline://table/sync.coverage')).toContain('# sync.coverage');
    await expect(read('sightline://table/mart.visibility_weekl')).rejects.toThrow(
      /; did you mean sightline:\/\/table\/mart\.visibility_weekly\?$/,
    );
    const reader = await world().connectAs({ scopes: ['read', 'metrics'] });
    await expect(reader.readResource({ uri: 'sightline://table/mart.visibility_weekly' })).rejects.toThrow(
      'Unknown resource',
    );
    expect(JSON.stringify(await reader.readResource({ uri: 'sightline://table/responses' }))).toContain('# responses');
  });
});
