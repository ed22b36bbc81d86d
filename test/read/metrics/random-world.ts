import { join } from 'node:path';
import { addDays } from '../../../src/contract/time.ts';
import type { MetricsSource } from '../../../src/read/metrics/table-result.ts';
import type { Query } from '../../../src/warehouse/database.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { coverageOf, openWritten } from '../../support/written.ts';

/** Settings of a random world. */
export interface WorldSettings {
  readonly seed: number;
  readonly responses: number;
  /** Worths of the sentiment labels as calibrated; null for the defaults. */
  readonly labels: Readonly<Record<string, number>> | null;
  /** Whether responses list competitors twice. */
  readonly repeats: boolean;
  /** Days of responses; default: DAYS. */
  readonly days?: number;
}

/** The last day of the worlds, and the day on which they are read. */
export const LAST_DAY = '2026-03-10';
export const NOW_MS = Date.parse('2026-03-11T09:30:00Z');
/** Days of responses of a world. */
export const DAYS = 70;
const BRANDS = 3;

/** An opened random world. */
export interface RandomWorld {
  readonly source: MetricsSource;
  /** Path of the replica. */
  readonly path: string;
  /** Runs a query on the replica. */
  readonly query: Query;
}

/**
 * Writes a world with everything that makes numbers differ: deleted brands, prompts, responses and competitors, competitors that are
 * not tracked, missing positions, labels and domains, unknown labels, prompts without a topic and with several tags.
 */
export async function openRandomWorld(settings: WorldSettings): Promise<RandomWorld> {
  const written = await openWritten();
  await written.run(...statements(settings));
  const path = join(await temporaryFolder(), 'analytics.duckdb');
  const source = await written.source(NOW_MS, path);
  return { source, path, query: (sql, parameters) => source.replica.replica.work((query) => query(sql, parameters)) };
}

function id(kind: string, number: string): string {
  return `CAST(md5('${kind}' || ${number}) AS UUID)`;
}

function statements({ seed, responses, labels, repeats, days = DAYS }: WorldSettings): string[] {
  const child = 'r.brand_id, r.id AS response_id, r.prompt_id, r.engine, r.created_at';
  const rare = (chance: number, value: string): string => `CASE WHEN random() < ${chance} THEN ${value} END`;
  return [
    `SELECT setseed(${seed / 1_000})`,
    // The last brand is deleted.
    `INSERT INTO brands BY NAME SELECT ${id('brand', 'i')} AS id, 'Brand ' || i AS name,
       CASE i WHEN 0 THEN 'https://www.own.example/' WHEN 2 THEN 'https://other.example' END AS website_url,
       DATE '${LAST_DAY}' - ${days} AS created_at, CASE WHEN i = ${BRANDS - 1} THEN TIMESTAMP '2026-03-01' END AS _deleted_at
     FROM range(${BRANDS}) t(i)`,
    "INSERT INTO engines BY NAME SELECT unnest(['chatgpt', 'claude', 'gemini']) AS slug",
    // One competitor of each brand is no longer tracked.
    `INSERT INTO competitors BY NAME SELECT ${id('brand', 'b')} AS brand_id, ${id('rival', "b || '-' || i")} AS id, 'Rival ' || i AS name,
       json_object('website', 'rival' || i || '.example') AS record, CASE WHEN i = 4 THEN TIMESTAMP '2026-03-01' END AS _deleted_at
     FROM range(${BRANDS}) t(b), range(5) u(i)`,
    // Three prompts of each brand are deleted, three have no topic.
    `INSERT INTO prompts BY NAME SELECT ${id('brand', 'b')} AS brand_id, ${id('prompt', "b || '-' || i")} AS id, 'Prompt ' || i AS text, true AS active,
       CASE WHEN i % 6 > 0 THEN ${id('topic', "b || '-' || i % 3")} END AS topic_id, CASE WHEN i % 6 > 0 THEN 'Topic ' || i % 3 END AS topic_name,
       CASE WHEN i % 5 < 4 THEN i % 5 < 2 END AS branded, CASE WHEN i % 4 > 0 THEN 'stage ' || i % 4 END AS funnel_stage,
       CASE WHEN i > 14 THEN TIMESTAMP '2026-03-01' END AS _deleted_at
     FROM range(${BRANDS}) t(b), range(18) u(i)`,
    `INSERT INTO prompt_tags BY NAME SELECT brand_id, id AS prompt_id, k AS ordinal, ${id('tag', "brand_id || '-' || k")} AS tag_id, 'Tag ' || k AS name
     FROM prompts, range(3) t(k) WHERE hash(id, k) % 3 = 0`,
    `INSERT INTO responses BY NAME SELECT ${id('brand', 'b')} AS brand_id, uuid() AS id, ${id('prompt', "b || '-' || p")} AS prompt_id,
       ['chatgpt', 'claude', 'gemini', 'unlisted'][1 + CAST(floor(random() * random() * 4) AS INTEGER)] AS engine,
       asked_at AS created_at, m AS brand_mentioned, CASE WHEN random() < 0.9 AND m THEN 1 + CAST(floor(random() * 6) AS BIGINT) END AS brand_position,
       ['positive', 'neutral', 'negative', 'mixed', NULL][1 + CAST(floor(random() * 5) AS INTEGER)] AS brand_sentiment,
       ${rare(0.03, "TIMESTAMP '2026-03-02'")} AS _deleted_at
     FROM (SELECT CAST(floor(random() * random() * ${BRANDS}) AS INTEGER) AS b, CAST(floor(random() * 18) AS INTEGER) AS p,
       CASE WHEN random() < 0.99 THEN DATE '${LAST_DAY}' + INTERVAL 1 DAY - to_seconds(CAST(floor(random() * ${days * 86_400}) AS BIGINT)) END AS asked_at,
       CASE WHEN random() < 0.98 THEN random() < 0.45 END AS m
       FROM range(${responses}))`,
    // The brand's position may be set although it is not mentioned.
    'UPDATE responses SET brand_position = 2 WHERE hash(id) % 17 = 0',
    `INSERT INTO response_competitors BY NAME SELECT ${child}, k AS ordinal, c.id AS competitor_id, c.name, ${rare(0.9, '1 + k')} AS position,
       ['positive', 'neutral', 'negative', 'mixed'][1 + CAST(floor(random() * 4) AS INTEGER)] AS sentiment, r._deleted_at
     FROM responses r JOIN (SELECT *, row_number() OVER (PARTITION BY brand_id ORDER BY id) - 1 AS k FROM competitors) c
       ON c.brand_id = r.brand_id WHERE random() < 0.3`,
    ...(repeats
      ? [
          `INSERT INTO response_competitors SELECT * REPLACE (ordinal + 10 AS ordinal, 9 AS position, 'negative' AS sentiment)
           FROM response_competitors WHERE hash(response_id) % 4 = 0`,
          "INSERT INTO sync.shapes VALUES ('responses', 'repeats in competitors', 'true')",
        ]
      : []),
    `INSERT INTO response_citations BY NAME SELECT ${child}, k AS ordinal, 'https://page.example/' || k % 2 AS url,
       ['own.example', 'Blog.own.example', 'www.own.example', 'notown.example', 'rival1.example', 'a.rival2.example', 'third.example', NULL][
         1 + CAST(floor(random() * 8) AS INTEGER)] AS domain, r._deleted_at
     FROM responses r, range(4) t(k) WHERE random() < 0.5`,
    `INSERT INTO traffic_daily BY NAME SELECT b.id AS brand_id, CAST(day AS DATE) AS date, source, CAST(floor(random() * 40) AS BIGINT) AS sessions,
       CAST(floor(random() * 5) AS BIGINT) AS key_events, ${rare(0.8, 'round(random() * 90, 2)')} AS revenue
     FROM brands b, (SELECT unnest(generate_series(DATE '${LAST_DAY}' - ${days}, DATE '${LAST_DAY}', INTERVAL 1 DAY)) AS day),
       (SELECT unnest(['assistant-a', 'other-ai']) AS source) WHERE random() < 0.8`,
    // The property of brand 1 was disconnected, and its last visits are older. Odd worlds have two currencies.
    `DELETE FROM traffic_daily WHERE brand_id = ${id('brand', '1')} AND date > DATE '${LAST_DAY}' - 30`,
    `INSERT INTO traffic_totals BY NAME SELECT ${id('brand', 'b')} AS brand_id, DATE '${LAST_DAY}' - first AS range_from,
       DATE '${LAST_DAY}' - last AS range_to, connected, currency, TIMESTAMP '2026-03-11 01:00:00' - to_days(CAST(last AS INTEGER)) AS _synced_at
     FROM (VALUES (0, ${days}, 0, true, 'EUR'), (1, ${days}, 40, true, '${seed % 2 === 0 ? 'EUR' : 'USD'}'), (1, 39, 0, false, NULL))
       t(b, first, last, connected, currency)`,
    ...(labels === null
      ? []
      : [
          `INSERT INTO sync.calibration BY NAME SELECT 'labels' AS name, CAST('${JSON.stringify(labels)}' AS JSON) AS value, 'learned' AS source,
             1 AS compared, 1 AS agreed, 'test' AS note, TIMESTAMP '2026-03-11' AS decided_at`,
        ]),
    coverageOf(addDays(LAST_DAY, -days), LAST_DAY, '2026-03-11 02:00:00'),
  ];
}
