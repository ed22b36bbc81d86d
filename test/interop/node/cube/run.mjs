// Compiles the data model of examples/cube with Cube's compiler, runs the SQL that Cube generates for DuckDB, and compares the rows with
// `sightline metrics query`.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createReport, world } from './report.mjs';

// The planner in JavaScript: the other one, and the engine of templates, are in a binary outside npm.
process.env.CUBEJS_TESSERACT_SQL_PLANNER = 'false';

const require = createRequire(import.meta.url);
const { prepareCompiler } = require('@cubejs-backend/schema-compiler');
const { DuckDBQuery } = require('@cubejs-backend/duckdb-driver/dist/src/DuckDBQuery.js');
const { DuckDBInstance } = require('@duckdb/node-api');

const DAY_MS = 86_400_000;
const MODEL = 'model/cubes/sightline.yml';
const dayAt = (offset) => new Date(Date.parse(world.truth.cut) + offset * DAY_MS).toISOString().slice(0, 10);
const range = [dayAt(-7), dayAt(6)];

const onResponses = [
  ...['responses', 'mentions', 'visibility', 'share_of_voice', 'position', 'sentiment', 'net_sentiment'],
  ...['first_mentions', 'citations', 'owned_citations', 'citing_responses'],
];
const byEntity = onResponses.slice(1, 8);
const byDomain = ['citations', 'citing_responses'];
const ofTraffic = ['ai_sessions', 'key_events', 'revenue'];
// Cube, prefix of its measures, measures, dimensions of Cube with the columns of sightline, dimensions of sightline, grain.
const queries = [
  ['responses', '', onResponses, { 'brands.brand_id': 'brand_id' }, ['brand'], null],
  [
    'responses',
    '',
    onResponses,
    { 'brands.brand_id': 'brand_id', 'responses.engine': 'engine' },
    ['brand', 'engine'],
    'week',
  ],
  ['responses', '', onResponses, { 'brands.brand': 'brand', 'prompts.topic_id': 'topic_id' }, ['brand', 'topic'], null],
  [
    'responses',
    '',
    onResponses,
    { 'brands.brand': 'brand', 'prompts.prompt_id': 'prompt_id' },
    ['brand', 'prompt'],
    null,
  ],
  [
    'entity_responses',
    'entity_',
    byEntity,
    { 'brands.brand_id': 'brand_id', 'entity_responses.entity': 'entity' },
    ['brand', 'entity'],
    'week',
  ],
  [
    'cited_domains',
    'domain_',
    byDomain,
    { 'brands.brand_id': 'brand_id', 'domains.owner': 'owner' },
    ['brand', 'owner'],
    null,
  ],
  [
    'cited_domains',
    'domain_',
    byDomain,
    { 'brands.brand_id': 'brand_id', 'cited_domains.domain': 'domain' },
    ['brand', 'domain'],
    'week',
  ],
  [
    'traffic',
    '',
    ofTraffic,
    { 'brands.brand_id': 'brand_id', 'traffic.source': 'source' },
    ['brand', 'source'],
    'week',
  ],
];

const versionOf = (name) =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'node_modules', name, 'package.json'), 'utf8')).version;
const report = createReport(`${versionOf('@cubejs-backend/schema-compiler')}, DuckDB ${versionOf('@duckdb/node-api')}`);
const content = readFileSync(join(process.env.INTEROP_EXAMPLES, 'cube', MODEL), 'utf8');
const repository = { localPath: () => '.', dataSchemaFiles: async () => [{ fileName: MODEL, content }] };
// The model has no templates.
const compilers = prepareCompiler(repository, { nativeInstance: { newJinjaEngine: () => ({}) } });
await report.check('compiles the data model', () => compilers.compiler.compile().then(() => true));
const connection = await (await DuckDBInstance.create(world.replica, { access_mode: 'READ_ONLY' })).connect();

async function rowsOfCube([cube, prefix, measures, dimensions, , grain]) {
  const query = new DuckDBQuery(compilers, {
    measures: measures.map((measure) => `${cube}.${prefix}${measure}`),
    dimensions: Object.keys(dimensions),
    timeDimensions: [{ dimension: `${cube}.day`, dateRange: range, ...(grain === null ? {} : { granularity: grain }) }],
    timezone: 'UTC',
    limit: null,
    rowLimit: null,
  });
  const [sql, parameters] = query.buildSqlAndParams();
  const result = await connection.runAndReadAll(sql, parameters);
  const names = [...Object.values(dimensions), ...(grain === null ? [] : ['period']), ...measures];
  return keyed(
    result.getRowsJson().map((row) => Object.fromEntries(row.map((value, index) => [names[index], value]))),
    names.slice(0, -measures.length),
    measures,
  );
}

function rowsOfSightline([, , measures, dimensions, by, grain]) {
  const { command, args, cwd, env } = world.stdio;
  const options = ['--from', range[0], '--to', range[1], '--compare-to', 'none', '--json', '--by', ...by];
  const all = [args[0], 'metrics', 'query', measures.join(), ...options, ...(grain === null ? [] : ['--grain', grain])];
  const rows = JSON.parse(execFileSync(command, all, { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] }).toString());
  return keyed(rows, [...Object.values(dimensions), ...(grain === null ? [] : ['period'])], measures);
}

// Rows by their keys, without rows that lack one; a time is cut to its day.
function keyed(rows, keys, measures) {
  const complete = rows.filter((row) => keys.every((key) => row[key] !== null));
  const number = (value) => (value === null ? null : Number(value));
  return new Map(
    complete.map((row) => [
      keys.map((key) => `${row[key]}`.replace(/[ T]00:00:00.*$/, '')).join(' | '),
      measures.map((measure) => number(row[measure])),
    ]),
  );
}

function isSame(one, other) {
  return (
    one === other || (one !== null && other !== null && Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(other)))
  );
}

let compared = 0;
for (const query of queries) {
  const [, prefix, measures, dimensions, , grain] = query;
  await report.check(`${measures.length} measures ${prefix} by ${Object.keys(dimensions)} ${grain ?? ''}`, async () => {
    const expected = rowsOfSightline(query);
    const found = await rowsOfCube(query);
    compared += expected.size;
    const keys = [...new Set([...found.keys(), ...expected.keys()])];
    const different = keys.filter(
      (key) => !measures.every((_, index) => isSame(found.get(key)?.[index], expected.get(key)?.[index])),
    );
    return (
      (different.length === 0 && expected.size > 0) ||
      `${different.length} of ${keys.length} rows differ: ${different.slice(0, 3).map((key) => `${key}: ${found.get(key)}, expected ${expected.get(key)}`)}`
    );
  });
}
await report.check('compared rows: more than 50', () => compared > 50 || compared);
report.write();
