import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addDays, dayOf } from '../../../src/contract/time.ts';
import { estimateTokens } from '../../../src/serve/mcp/estimate-tokens.ts';
import { dataTools } from '../../../src/serve/mcp/tool-set.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { NOW_MS } from '../../support/clocks.ts';
import { countOf } from '../../support/counts.ts';
import { askChecked, serveBefore } from './serve-before.ts';
import { type Called, call, compile } from './support.ts';

const world = serveBefore('small');
const ask = (name: string, values: Record<string, unknown> = {}): Promise<Called> => askChecked(world(), name, values);
const brandName = (): string => world().brands[0]?.name ?? '';
const today = dayOf(NOW_MS);
const [from, to] = [addDays(today, -4), addDays(today, -1)];
const many = Array.from({ length: 101 }, () => 'x');

/** Invalid arguments, most of which the metrics layer does not see, and parts of the error, by tool. BRAND is the name of a brand, and BRAN~ is it without its last letter. */
const INVALID: Readonly<Record<string, readonly [values: Record<string, unknown>, ...told: string[]][]>> = {
  query_metrics: [
    [{ metrics: undefined }, 'metrics is required', 'Arguments of query_metrics: metrics (required), group_by, grain'],
    [{ metrics: null }, 'metrics is required'],
    [{ metrics: ['visiblity'] }, 'metrics is "visiblity"; allowed: ', 'did you mean "visibility"?'],
    [{ metrics: [{}] }, 'metrics is {}; allowed: a text'],
    [{ metric: 'visibility' }, 'parameter is "metric"; allowed: metrics, ', 'did you mean "metrics"?'],
    [{ exact: 'maybe' }, 'exact is "maybe"; allowed: true, false'],
    [{ max_tokens: 100 }, 'max_tokens is "100"; allowed: 1000 to 20000'],
    [{ where: 'engine' }, 'where is "engine"; allowed: an object with filters'],
    [{ where: { engines: 'x' } }, 'parameter is "engines"', 'did you mean "engine"?'],
    [{ brand: many }, '101 values', 'at most 100'],
    [{ brand: 'x'.repeat(20_001) }, '20001 characters'],
  ],
  list_metrics: [[{ search: 'x' }, 'parameter is "search"; allowed: max_tokens']],
  list_dimension_values: [
    [{}, 'dimension is required'],
    [{ dimension: 'brands' }, 'dimension is "brands"', 'did you mean "brand"?'],
  ],
  explain_change: [
    [{}, 'metric is required'],
    [{ metric: 'visibility' }, 'brand is required; allowed: one of '],
  ],
  brief: [[{ brand: 'BRAND', from: '2026-11-22', to: '2026-11-01' }, 'from is "2026-11-22"']],
  what_changed: [[{ since: '7d', kind: ['prompt_los'] }, 'kind is "prompt_los"', 'did you mean "prompt_lost"?']],
  find_opportunities: [[{ brand: 'BRAND', kind: 'gap' }, 'kind is "gap"']],
  query: [
    [{ sql: '' }, 'sql is required'],
    [{ sql: 'SELECT engin FROM responses' }, 'sql_invalid', 'engine'],
  ],
  describe_table: [[{ table: 'respones' }, 'not_found: there is no table "respones"', 'Did you mean responses?']],
};

describe('an argument of a data tool', () => {
  it('may be null, a text instead of a list, or a number as text', async () => {
    const [brand, days] = [brandName(), { from, to }];
    const visibility = { metrics: ['visibility'], brand: [brand], group_by: ['engine'], limit: 5, ...days };
    const whole = await ask('query_metrics', visibility);
    const loose = { metrics: 'visibility', brand, group_by: 'engine', limit: '5', ...days, exact: 'false' };
    const empty = { grain: null, where: { topic: null }, max_tokens: null };
    expect(await call(world().client, 'query_metrics', { ...loose, ...empty })).toEqual(whole);
    const engine = whole.shown.rows[0][0] as string;
    const responses = { metrics: ['responses'], group_by: ['engine'], ...days };
    const one = await ask('query_metrics', { ...responses, where: { engine } });
    expect(one.shown.rows.map(([name]: string[]) => name)).toEqual([engine]);
    expect(await ask('query_metrics', { ...responses, where: { engine: [engine] } })).toEqual(one);
  });

  it.each(Object.keys(INVALID))(
    'of %s is rejected with its value, what is allowed and the nearest name',
    async (name) => {
      const brand = brandName();
      const named = (text: string): string => text.replace('BRAND', brand).replace('BRAN~', `${brand.slice(0, -1)}~`);
      for (const [given, ...told] of INVALID[name] ?? []) {
        const standard = name === 'query_metrics' ? { metrics: 'visibility' } : {};
        const values = JSON.parse(named(JSON.stringify({ ...standard, ...given }))) as Record<string, unknown>;
        const { isError, text, shown } = await call(world().client, name, values);
        expect({ name, values, isError, shown }).toEqual({ name, values, isError: true, shown: undefined });
        for (const part of told) expect(text, `${name} ${JSON.stringify(values)}`).toContain(named(part));
        expect(text.length).toBeLessThan(2_500);
      }
    },
  );

  it('has no side effects under the name of a property of all objects', async () => {
    const text = `{ "metrics": ["visibility"], "where": { "__proto__": { "engine": "x" } } }`;
    await call(world().client, 'query_metrics', JSON.parse(text));
    expect({}).not.toHaveProperty('engine');
    for (const name of ['constructor', 'toString', '__proto__x', 'a\u0000b']) {
      const { isError, text: told } = await call(world().client, 'list_metrics', { [name]: 'x' });
      expect(isError).toBe(true);
      expect(told).toContain('invalid_parameter: parameter is');
    }
  });
});

describe('a result that is too long', () => {
  it('has as many rows as fit, and reports the true count', async () => {
    const sql = "SELECT range AS n, repeat('word ', 20) AS text FROM range(300)";
    const { shown, note, text } = await ask('query', { sql, limit: 400, max_tokens: 1_500 });
    expect(shown.rows.length).toBeGreaterThan(5);
    expect(shown.rows.length).toBeLessThan(300);
    expect(estimateTokens(text)).toBeLessThanOrEqual(1_500);
    expect(note.omitted).toBe(
      `${300 - shown.rows.length} of 300 rows are omitted because the result would be too long: allow more with max_tokens, or ask for less.`,
    );
    const cut = await ask('query', { sql, limit: 200, max_tokens: 1_500 });
    expect(cut.note.omitted).toContain('of 300 rows are omitted');
    const byAll = { metrics: ['visibility'], group_by: ['brand', 'engine', 'prompt'], grain: 'day' };
    const metrics = await ask('query_metrics', { ...byAll, max_tokens: 1_000 });
    expect(metrics.note.omitted).toContain(`More than ${200 - metrics.shown.rows.length} rows are omitted`);
  });

  it('never exceeds max_tokens by the estimate, unless it is a single row', async () => {
    const brand = brandName();
    const metric = fc.record({
      metrics: fc.constantFrom(['visibility'], ['mentions', 'position'], ['responses']),
      group_by: fc.constantFrom([], ['engine'], ['brand', 'engine', 'prompt'], ['topic']),
      grain: fc.constantFrom('day', 'week', null),
      compare_to: fc.constantFrom('previous', null),
      exact: fc.boolean(),
      include_sql: fc.boolean(),
    });
    const fixed: { name: string; values: Record<string, unknown> }[] = [
      { name: 'explain_change', values: { metric: 'visibility', brand, from, to } },
      { name: 'what_changed', values: { since: '300d', limit: 200 } },
      { name: 'find_opportunities', values: { brand, limit: 200 } },
      { name: 'list_dimension_values', values: { dimension: 'domain', limit: 10_000 } },
      { name: 'list_tables', values: { search: 'a' } },
      { name: 'list_metrics', values: {} },
      { name: 'query', values: { sql: "SELECT repeat('ab ', 9000) AS t, list(range) AS l FROM range(800)" } },
      { name: 'query', values: { sql: 'SELECT * FROM responses' } },
    ];
    const calls = fc.oneof(
      metric.map((values) => ({ name: 'query_metrics', values: values as Record<string, unknown> })),
      fc.constantFrom(...fixed),
    );
    await fc.assert(
      fc.asyncProperty(calls, fc.integer({ min: 1_000, max: 4_000 }), async ({ name, values }, max_tokens) => {
        const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
        const { shown, text } = await ask(name, { ...given, max_tokens });
        const rows = Object.values(shown as object).find((value) => Array.isArray(value) && Array.isArray(value[0]));
        if (rows === undefined || rows.length > 1)
          expect(estimateTokens(text), `${name} ${max_tokens}`).toBeLessThanOrEqual(max_tokens);
      }),
      { numRuns: countOf(fixed.length + 8, 60), examples: fixed.map((one): [typeof one, number] => [one, 1_000]) },
    );
  });
});

it('the definition of every tool has strict schemas, with all members of its result and all arguments', async () => {
  const { tools } = world();
  expect(tools.map(({ name }) => name)).toEqual([
    ...dataTools.map(({ name }) => name),
    ...catalogue.resources.map(({ tool }) => tool),
  ]);
  for (const { name, inputSchema, outputSchema } of tools) {
    expect(compile(inputSchema)({ nothing: 1 }), name).toBe(false);
    expect(compile(outputSchema as object)({ _sightline: {} }), name).toBe(true);
  }
});
