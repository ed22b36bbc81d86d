import { describe, expect, it } from 'vitest';
import { metricflowFiles } from '../../src/metrics/exports/metricflow.ts';
import { measures } from '../../src/metrics/model/measures.ts';
import { runMetrics } from '../../src/read/metrics/run-metrics.ts';
import { openRandomWorld, type RandomWorld, type WorldSettings } from '../read/metrics/random-world.ts';
import { sampleOf } from '../support/counts.ts';
import { type Grouping, type ReadModel, readKeys, readModels } from './exports/read-models.ts';

type Row = Readonly<Record<string, unknown>>;

const RANGE = { from: '2026-01-07', to: '2026-02-26' };
/** Groupings by the dataset of the measures. */
const GROUPINGS: Readonly<Record<string, readonly Grouping[]>> = {
  responses: [
    { by: ['brand'], grain: null },
    { by: ['brand', 'engine'], grain: 'week' },
    { by: ['brand', 'topic'], grain: 'month' },
    { by: ['brand', 'funnel_stage', 'branded'], grain: null },
    { by: ['brand', 'prompt'], grain: null },
  ],
  entity_responses: [
    { by: ['brand', 'entity'], grain: null },
    { by: ['brand', 'engine', 'entity'], grain: 'week' },
    { by: ['brand', 'topic', 'entity'], grain: null },
  ],
  cited_domains: [
    { by: ['brand', 'domain'], grain: null },
    { by: ['brand', 'owner'], grain: 'week' },
    { by: ['brand', 'engine', 'owner'], grain: null },
  ],
  traffic: [
    { by: ['brand'], grain: null },
    { by: ['brand', 'source'], grain: 'week' },
  ],
};

// The second world has repeated mentions and another scale of sentiment, without a label neutral.
const worlds: readonly WorldSettings[] = [
  { seed: 21, responses: 2_500, labels: null, repeats: false },
  { seed: 22, responses: 1_500, labels: { positive: 2, mixed: 1, negative: -2 }, repeats: true },
];

it.each(sampleOf(worlds, 1, 1))(
  'the exported measures return the numbers of metrics query in world $seed',
  async (settings) => {
    const world = await openRandomWorld(settings);
    const models = readModels();
    let rows = 0;
    for (const [dataset, groupings] of Object.entries(GROUPINGS)) {
      const model = models.find((one) => one.dataset === dataset);
      if (model === undefined) throw new Error(`no dataset ${dataset}`);
      for (const grouping of groupings) {
        const expected = await measured(world, model, grouping);
        expect(await exported(world, model, grouping), `${dataset} by ${grouping.by}`).toEqual(expected);
        rows += expected.size;
      }
    }
    expect(rows).toBeGreaterThan(500);
  },
);

describe('the exported files', () => {
  it('have all measures except the share of citations', () => {
    const names = readModels().flatMap(({ measures: all, prefix }) =>
      [...all.keys()].map((name) => name.replace(prefix, '')),
    );
    const missing = measures.filter(({ name }) => !names.includes(name)).map(({ name }) => name);
    expect(missing).toEqual(['citation_share']);
  });

  it('name the measures and dimensions that they leave out, with reasons', () => {
    const text = metricflowFiles().get('models/metrics/sightline_metrics.yml');
    expect(text).toMatch(/^# Left out:\n# - citation_share: .{20,}\n# - tag: .{20,}\n# - intervals/m);
  });

  it('declare primary keys that identify the rows', async () => {
    const world = await openRandomWorld({ seed: 23, responses: 600, labels: null, repeats: true });
    const keys = readKeys();
    expect(keys.length).toBeGreaterThan(5);
    for (const { name, sql, key } of keys) {
      const [[rows, groups] = []] = await world.query(`SELECT count(*), count(DISTINCT ${key}) FROM (${sql})`);
      expect([name, groups]).toEqual([name, rows]);
      expect(Number(rows)).toBeGreaterThan(0);
    }
  });
});

function keyOf(values: readonly unknown[]): string {
  return values.map((value) => (value === null ? 'none' : String(value))).join(' | ');
}

function number(value: unknown): number | null {
  return value === null ? null : Number(value);
}

function close(value: unknown): unknown {
  return value === null ? null : expect.closeTo(Number(value), 9);
}

/** Rows of `metrics query` by their group. */
async function measured(world: RandomWorld, model: ReadModel, { by, grain }: Grouping): Promise<Map<string, Row>> {
  const names = [...model.measures.keys()].map((name) => name.replace(model.prefix, ''));
  const given = new URLSearchParams({
    metrics: names.join(),
    group_by: by.join(),
    compare_to: 'none',
    ...RANGE,
    ...(grain === null ? {} : { grain }),
  });
  const { columns, rows } = await runMetrics(world.source, given);
  const at = (row: readonly unknown[], name: string): unknown =>
    row[columns.findIndex((column) => column.name === name)];
  return new Map(
    rows.map((row) => [
      keyOf([...model.keys(by), ...(grain === null ? [] : ['period'])].map((name) => at(row, name))),
      Object.fromEntries(names.map((name) => [name, close(at(row, name))])),
    ]),
  );
}

/** Rows of the expressions of an exported model by their group, without rows that lack a value of a prompt's dimension. */
async function exported(world: RandomWorld, model: ReadModel, { by, grain }: Grouping): Promise<Map<string, Row>> {
  const keys = model.keys(by);
  const period =
    grain === null ? [] : [`CAST(CAST(date_trunc('${grain}', ${model.column('day')}) AS DATE) AS VARCHAR)`];
  const grouped = [...keys.map((key) => `CAST(${model.column(key)} AS VARCHAR)`), ...period];
  const values = [...model.measures.values()].map((sql) => `CAST(${sql} AS DOUBLE)`);
  const where = [
    `${model.column('day')} BETWEEN DATE '${RANGE.from}' AND DATE '${RANGE.to}'`,
    ...keys.filter((key) => key !== 'competitor_id').map((key) => `${model.column(key)} IS NOT NULL`),
  ];
  const sql = `SELECT ${[...grouped, ...values].join(',\n')}\nFROM ${model.from}\nWHERE ${where.join(' AND ')}\nGROUP BY ALL`;
  const { rows } = await world.source.replica.replica.work((_query, read) => read(sql));
  const names = [...model.measures.keys()].map((name) => name.replace(model.prefix, ''));
  return new Map(
    rows.map((row) => [
      keyOf(row.slice(0, grouped.length)),
      Object.fromEntries(names.map((name, index) => [name, number(row[grouped.length + index])])),
    ]),
  );
}
