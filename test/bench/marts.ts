import { MART_SCHEMA, type Mart, marts } from '../../src/analytics/marts/marts.ts';
import { builtInCatalogue as catalogue } from '../../src/session/catalogues.ts';
import type { Session } from '../../src/warehouse/database.ts';
import { ensureViews } from '../../src/warehouse/views.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { generate } from './generate.ts';
import { medianMs, timeMs } from './measure.ts';

const ROUNDS = 5;
const GOAL_MS = 500;

/** The largest tables. The baseline of a mart is the bare scan of the largest table it reads. */
const LARGE = ['response_citations', 'response_competitors', 'responses'] as const;
/** Marts that are rarely read completely; the benchmark also queries their last month. */
const PARTS: Readonly<Record<string, string>> = {
  cited_domains_all: "day >= DATE '$day' - 28",
  cited_urls_all: "month = date_trunc('month', DATE '$day') - INTERVAL 1 MONTH",
};

/** Measures reading all rows and columns of each mart, compared with a scan of the largest table it reads. */
export async function martFigures(folder: string, responses: number): Promise<string[]> {
  const generated = await generate(folder, responses);
  const { database } = await openWarehouse(generated.warehouse, catalogue, { memoryLimitMb: 1024, threads: 2 });
  try {
    const created = await timeMs(() => ensureViews(database, MART_SCHEMA, marts()));
    const again = await timeMs(() => ensureViews(database, MART_SCHEMA, marts()));
    await database.exclusive(addMissingData);
    const head = `marts over ${responses} answers (goal ${GOAL_MS} ms each)`;
    const made = `made in ${created.toFixed(0)} ms, found as they are in ${again.toFixed(1)} ms`;
    const lines = [`${head}, ${marts().length} views ${made}`];
    for (const mart of marts()) lines.push(await database.exclusive((session) => lineOf(session, mart)));
    for (const [name, condition] of Object.entries(PARTS)) {
      const sql = `SELECT count(*), bit_xor(hash(t)) FROM ${MART_SCHEMA}.${name} t WHERE ${condition.replace('$day', generated.today)}`;
      const ms = await database.exclusive((session) => medianMs(ROUNDS, () => session.all(sql)));
      lines.push(`  ${`${name}, a month`.padEnd(27)} ${ms.toFixed(1).padStart(8)} ms`);
    }
    return lines;
  } finally {
    await database.close();
  }
}

// Adds websites that own some of the generated pages, versions of prompts, and visits.
async function addMissingData(session: Session): Promise<void> {
  await session.run("UPDATE brands SET website_url = 'https://www.site1.example/'");
  await session.run(`UPDATE competitors SET record = json_object('websiteUrl', 'https://site' || (20 + n) || '.example')
    FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM competitors) o WHERE o.id = competitors.id`);
  await session.run(`INSERT INTO prompts_history BY NAME
    SELECT p.* EXCLUDE (_item, _synced_at, _deleted_at), v.valid_from, v.valid_to, 'updated' AS change,
      '{"prompt_tags": [{"tag_id": "${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}", "name": "A tag"}]}' AS _children
    FROM prompts p, (SELECT day AS valid_from, lead(day) OVER (ORDER BY day) AS valid_to FROM (
      SELECT unnest([min(created_at), min(created_at) + INTERVAL 100 DAY, max(created_at)]) AS day FROM responses)) v`);
  await session.run(`INSERT INTO traffic_daily BY NAME SELECT brand_id, CAST(created_at AS DATE) AS date,
    'assistant-a' AS source, count(*) % 97 AS sessions FROM responses GROUP BY ALL`);
}

async function lineOf(session: Session, mart: Mart): Promise<string> {
  const table = LARGE.find((name) => readsFrom(mart, name));
  const view = `${MART_SCHEMA}.${mart.name}`;
  const ms = await medianMs(ROUNDS, () => session.all(`SELECT count(*), bit_xor(hash(t)) FROM ${view} t`));
  const [row] = await session.query(`SELECT count(*) FROM ${view}`);
  const timed = `  ${mart.name.padEnd(27)} ${ms.toFixed(1).padStart(8)} ms ${String(row?.[0]).padStart(9)} rows`;
  const note = ms > GOAL_MS ? '   over the goal' : '';
  if (table === undefined) return timed + note;
  const scan = await medianMs(ROUNDS, () =>
    session.all(`SELECT count(*), max(created_at), max(engine), max(brand_id) FROM ${table}`),
  );
  return `${timed}   ${table} scanned ${scan.toFixed(1)} ms, ${(ms / scan).toFixed(1)} : 1${note}`;
}

function readsFrom(mart: Mart, table: string): boolean {
  if (new RegExp(`\\b${table}\\b`).test(mart.sql)) return true;
  return marts().some((other) => new RegExp(`\\bmart\\.${other.name}\\b`).test(mart.sql) && readsFrom(other, table));
}
