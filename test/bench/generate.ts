import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { MART_SCHEMA, marts } from '../../src/metrics/marts/marts.ts';
import type { Session } from '../../src/warehouse/database.ts';
import { publishAnalytics } from '../../src/warehouse/replica.ts';
import { ensureViews } from '../../src/warehouse/views.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { restoreItems } from '../../src/warehouse/write/restored-items.ts';

/** Number of days over which the responses are spread, ending today. */
const DAYS = 366;
const PROMPTS = 500;
const COMPETITORS = 10;

/** A generated workspace. */
export interface Generated {
  /** Folder of the workspace. */
  readonly folder: string;
  readonly warehouse: string;
  readonly copy: string;
  readonly brandId: string;
  readonly today: string;
}

/**
 * Fills a warehouse with SQL: a brand with `responses` responses, each with about 3 competitors and 5 citations, and the
 * matching day counts. Publishes the replica. Sends no requests.
 */
export async function generate(dataFolder: string, responses: number): Promise<Generated> {
  const folder = join(dataFolder, 'default');
  await mkdir(folder, { recursive: true });
  const paths = { warehouse: join(folder, 'warehouse.duckdb'), copy: join(folder, 'analytics.duckdb') };
  const catalogue = createCatalogue(declarations);
  const warehouse = await openWarehouse(paths.warehouse, catalogue, { memoryLimitMb: 6_144 });
  const { database } = warehouse;
  const today = new Date().toISOString().slice(0, 10);
  try {
    await database.exclusive(async (session) => {
      await session.run("SET wal_autocheckpoint = '1GB'");
      for (const statement of statements(today, responses)) await session.run(statement);
      await restoreItems(session, catalogue);
      await note(session, today);
      await session.run('CHECKPOINT');
    });
    await ensureViews(database, MART_SCHEMA, marts());
    await publishAnalytics(database, paths.copy);
    const [first] = await database.exclusive((session) => session.all('SELECT CAST(id AS VARCHAR) AS id FROM brands'));
    return { folder, ...paths, brandId: String(first?.['id']), today };
  } finally {
    await warehouse.close();
  }
}

// The rows of one run, each with a hash of the length of a real one.
const provenance = `now()::TIMESTAMP AS _synced_at, UUID '00000000-0000-4000-8000-000000000001' AS _run_id, left(md5(CAST(uuid() AS VARCHAR)), 16) AS _row_hash, NULL::TIMESTAMP AS _deleted_at, NULL::JSON AS _extra`;

// Spreads ids like real ones: DuckDB bit-packs consecutive numbers, which makes them slow to read.
function id(kind: string, number: string): string {
  return `CAST(md5('${kind}' || ${number}) AS UUID)`;
}

function statements(today: string, responses: number): string[] {
  const named = (table: string, select: string): string => `INSERT INTO ${table} BY NAME ${select}`;
  const parent = `r.brand_id, r.id AS response_id, r.prompt_id, r.engine, r.created_at`;
  return [
    'SELECT setseed(0.5)',
    named(
      'brands',
      `SELECT ${id('brand', 'i')} AS id, 'Orbit ' || i AS name, '["chatgpt","claude","gemini","perplexity"]'::JSON AS engines,
      DATE '${today}' - ${DAYS} AS created_at, ${provenance} FROM range(1) t(i)`,
    ),
    named(
      'engines',
      `SELECT unnest(['chatgpt','claude','gemini','perplexity']) AS slug, NULL AS record, ${provenance}`,
    ),
    named(
      'competitors',
      `SELECT b.id AS brand_id, ${id('competitor', 'i')} AS id, 'Rival ' || i AS name, '{}'::JSON AS record,
      ${provenance} FROM brands b, range(${COMPETITORS}) t(i)`,
    ),
    named(
      'prompts',
      `SELECT b.id AS brand_id, ${id('prompt', 'i')} AS id, 'Which tool number ' || i || ' is the best?' AS text,
      true AS active, ${id('topic', 'i % 12')} AS topic_id, 'Topic ' || i % 12 AS topic_name, i % 7 = 0 AS branded,
      ${provenance} FROM brands b, range(${PROMPTS}) t(i)`,
    ),
    // Ordered by time, as after a sync.
    named(
      'responses',
      `SELECT ${id('brand', '0')} AS brand_id, uuid() AS id, ${id('prompt', `CAST(floor(random() * ${PROMPTS}) AS BIGINT)`)} AS prompt_id,
      'Which tool is the best for a small shop, and why is it so?' AS prompt,
      ['chatgpt','claude','gemini','perplexity'][1 + i % 4] AS engine,
      DATE '${today}' + INTERVAL 1 DAY - INTERVAL (${DAYS}) DAY + to_milliseconds(CAST(i * ${DAYS * 86_400_000 - 3_600_000}::DOUBLE / ${responses} AS BIGINT)) AS created_at,
      m AS brand_mentioned, CASE WHEN m THEN 1 + CAST(floor(random() * 5) AS BIGINT) END AS brand_position,
      CASE WHEN m THEN ['positive','neutral','negative'][1 + CAST(floor(random() * 3) AS INTEGER)] END AS brand_sentiment,
      ${provenance} FROM (SELECT i, random() < 0.4 AS m FROM range(${responses}) t(i))`,
    ),
    named(
      'response_competitors',
      `SELECT ${parent}, k AS ordinal, ${id('competitor', 'CAST(floor(random() * 3) AS BIGINT) + 3 * k')} AS competitor_id,
      'Rival' AS name, k + 1 AS position, ['positive','neutral','negative'][1 + CAST(floor(random() * 3) AS INTEGER)] AS sentiment,
      ${provenance} FROM responses r, range(3) t(k)`,
    ),
    named(
      'response_citations',
      `SELECT ${parent}, k AS ordinal, 'https://site' || d || '.example/page/' || CAST(floor(random() * 40) AS BIGINT) AS url,
      'site' || d || '.example' AS domain, 'A page about tools' AS title, k + 1 AS position, ${provenance}
      FROM (SELECT r.*, k, CAST(floor(random() * random() * 400) AS BIGINT) AS d FROM responses r, range(5) t(k)) r`,
    ),
    named(
      'metrics_daily',
      `SELECT brand_id, 'engine' AS row_mode, CAST(created_at AS DATE) AS date, engine, 'brand' AS entity_type,
      NULL AS competitor_id, 'Orbit' AS name, count(*) AS responses, count(*) FILTER (brand_mentioned) AS mentions, ${provenance}
      FROM responses GROUP BY ALL`,
    ),
  ];
}

// Writes the records of a sync: a run, the data version, and coverage of everything as of now.
async function note(session: Session, today: string): Promise<void> {
  const run = 'CAST($1 AS UUID)';
  const runId = '22222222-2222-4222-8222-222222222222';
  await session.run(
    `INSERT INTO sync.runs BY NAME SELECT ${run} AS run_id, ${run} AS pass_id, now()::TIMESTAMP AS started_at,
       now()::TIMESTAMP AS ended_at, 'complete' AS status, '{}' AS options, 1 AS data_version`,
    [runId],
  );
  await session.run(
    `INSERT INTO sync.coverage SELECT 'all', 'responses', id, CAST($2 AS DATE) - ${DAYS}, CAST($2 AS DATE),
       ${run}, ${run}, now()::TIMESTAMP, 1, NULL FROM brands`,
    [runId, today],
  );
}
