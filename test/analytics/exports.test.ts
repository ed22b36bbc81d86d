import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EXPORT_FORMATS, exportFiles } from '../../src/analytics/exports/metrics-exports.ts';
import { measures } from '../../src/analytics/model/measures.ts';
import { runMetrics } from '../../src/query/metrics/run-metrics.ts';
import { openRandomWorld, type RandomWorld, type WorldSettings } from '../query/metrics/random-world.ts';
import { sampleOf } from '../support/counts.ts';
import { type Grouping, parseExport, type ReadModel, readModels } from './exports/read-models.ts';

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
  'the exported measures of all formats return the numbers of metrics query in world $seed',
  async (settings) => {
    const world = await openRandomWorld(settings);
    const formats = EXPORT_FORMATS.map((format) => [format, readModels(format)] as const);
    let rows = 0;
    for (const [dataset, groupings] of Object.entries(GROUPINGS)) {
      for (const grouping of groupings) {
        let expected: Map<string, Row> | null = null;
        for (const [format, models] of formats) {
          const model = models.find((one) => one.dataset === dataset);
          if (model === undefined) throw new Error(`${format} has no dataset ${dataset}`);
          expected ??= await measured(world, model, grouping);
          expect(await exported(world, model, grouping), `${format}: ${dataset} by ${grouping.by}`).toEqual(expected);
          rows += expected.size;
        }
      }
    }
    expect(rows).toBeGreaterThan(1_000);
  },
);

describe('the exported formats', () => {
  it('have all measures except the share of citations', () => {
    for (const format of EXPORT_FORMATS) {
      const names = readModels(format).flatMap(({ measures: all, prefix }) =>
        [...all.keys()].map((name) => name.replace(prefix, '')),
      );
      const missing = measures.filter(({ name }) => !names.includes(name)).map(({ name }) => name);
      expect(missing, format).toEqual(['citation_share']);
    }
  });

  it('name the measures and dimensions that they leave out, with reasons', () => {
    for (const [format, path] of [
      ['metricflow', 'models/metrics/sightline_metrics.yml'],
      ['cube', 'model/cubes/sightline.yml'],
      ['osi', 'sightline.yaml'],
      ['superset', 'metadata.yaml'],
    ] as const) {
      expect(exportFiles(format).get(path), path).toMatch(
        /^# Left out:\n# - citation_share: .{20,}\n# - tag: .{20,}\n# - intervals/m,
      );
    }
  });
});

describe('the model in the Open Semantic Interchange format', () => {
  const dialects = z.enum(['ANSI_SQL', 'SNOWFLAKE', 'MDX', 'TABLEAU', 'DATABRICKS', 'MAQL', 'BIGQUERY', 'THOUGHTSPOT']);
  const expression = z.strictObject({
    dialects: z.array(z.strictObject({ dialect: dialects, expression: z.string() })).min(1),
  });
  const context = z.union([
    z.string(),
    z.looseObject({ instructions: z.string(), synonyms: z.array(z.string()) }).partial(),
  ]);
  const extensions = z.array(z.strictObject({ vendor_name: z.string(), data: z.string() }));
  const common = {
    description: z.string().optional(),
    ai_context: context.optional(),
    custom_extensions: extensions.optional(),
  };
  const datatype = z
    .enum(['String', 'Integer', 'Decimal', 'Float', 'Boolean', 'Date', 'Time', 'DateTime', 'DateTimeTz', 'Opaque'])
    .optional();
  const field = z.strictObject({
    ...common,
    name: z.string(),
    expression,
    dimension: z.strictObject({ is_time: z.boolean().optional() }).optional(),
    label: z.string().optional(),
    datatype,
  });
  const names = z.array(z.string());
  const { description: _, ...withoutDescription } = common;
  // The members of version 0.2.0.dev0; it allows no others.
  const specification = z.strictObject({
    version: z.literal('0.2.0.dev0'),
    semantic_model: z.array(
      z.strictObject({
        ...common,
        name: z.string(),
        datasets: z
          .array(
            z.strictObject({
              ...common,
              name: z.string(),
              source: z.string(),
              primary_key: names.optional(),
              unique_keys: z.array(names).optional(),
              fields: z.array(field).optional(),
            }),
          )
          .min(1),
        relationships: z.array(
          z.strictObject({
            ...withoutDescription,
            name: z.string(),
            from: z.string(),
            to: z.string(),
            from_columns: names.min(1),
            to_columns: names.min(1),
          }),
        ),
        metrics: z.array(z.strictObject({ ...common, name: z.string(), expression, datatype })),
      }),
    ),
  });

  it('has only members and values of the specification, and joins by the primary keys of datasets', () => {
    const [model] = specification.parse(parseExport('osi', 'sightline.yaml')).semantic_model;
    const keys = new Map(model?.datasets.map(({ name, primary_key: key }) => [name, key]));
    for (const { to, to_columns: columns } of model?.relationships ?? []) expect(columns).toEqual(keys.get(to));
    for (const list of [model?.datasets, model?.relationships, model?.metrics]) {
      const all = list?.map(({ name }) => name) ?? [];
      expect(new Set(all).size).toBe(all.length);
      expect(all.length).toBeGreaterThan(5);
    }
  });

  it('has declared primary keys that identify the rows', async () => {
    const world = await openRandomWorld({ seed: 23, responses: 600, labels: null, repeats: true });
    const [model] = specification.parse(parseExport('osi', 'sightline.yaml')).semantic_model;
    for (const { name, source, primary_key: key = [] } of model?.datasets ?? []) {
      const [[rows, groups] = []] = await world.query(
        `SELECT (SELECT count(*) FROM (${source})), (SELECT count(*) FROM (SELECT DISTINCT ${key.join()} FROM (${source})))`,
      );
      expect([name, groups]).toEqual([name, rows]);
      expect(Number(rows)).toBeGreaterThan(0);
    }
  });
});

describe('the import of Superset', () => {
  const metric = z.strictObject({
    metric_name: z.string(),
    verbose_name: z.string(),
    expression: z.string(),
    description: z.string(),
    d3format: z.string(),
    extra: z.record(z.string(), z.unknown()),
  });
  const column = z.strictObject({
    column_name: z.string(),
    verbose_name: z.string(),
    is_dttm: z.boolean(),
    is_active: z.literal(true),
    type: z.string(),
    groupby: z.boolean(),
    filterable: z.boolean(),
    description: z.string(),
  });
  // The members that Superset's ImportV1DatasetSchema accepts, as far as they are used.
  const dataset = z.strictObject({
    table_name: z.string(),
    main_dttm_col: z.string(),
    description: z.string(),
    schema: z.string(),
    sql: z.string(),
    filter_select_enabled: z.boolean(),
    uuid: z.uuid(),
    columns: z.array(column).min(1),
    metrics: z.array(metric).min(1),
    version: z.literal('1.0.0'),
    database_uuid: z.uuid(),
  });

  it('has metadata, a database and datasets of that database with the columns that their queries return', async () => {
    const world = await openRandomWorld({ seed: 24, responses: 300, labels: null, repeats: false });
    const files = exportFiles('superset');
    expect(parseExport('superset', 'metadata.yaml')).toMatchObject({ version: '1.0.0', type: 'SqlaTable' });
    const database = parseExport('superset', 'databases/sightline.yaml');
    const ids = new Set<string>([String(database['uuid'])]);
    const paths = [...files.keys()].filter((path) => path.startsWith('datasets/'));
    for (const path of paths) {
      const found = dataset.parse(parseExport('superset', path));
      expect(found.database_uuid).toBe(database['uuid']);
      ids.add(found.uuid);
      const described = await world.query(`DESCRIBE ${found.sql}`);
      const types = new Map(described.map(([name, type]) => [name, String(type)]));
      expect(found.columns.map(({ column_name: name }) => name)).toEqual([...types.keys()]);
      for (const { column_name: name, type, is_dttm: isTime } of found.columns) {
        expect(isTime).toBe(type === 'DATE');
        if (type === 'UUID' || type === 'DATE') expect([name, types.get(name)]).toEqual([name, type]);
      }
    }
    expect(ids.size).toBe(paths.length + 1);
    expect(paths.length).toBe(4);
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
