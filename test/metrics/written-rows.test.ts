import { expect, onTestFinished, test } from 'vitest';
import { defaultConventions } from '../../src/metrics/calibration/conventions.ts';
import { readConventions } from '../../src/metrics/calibration/findings.ts';
import { MART_SCHEMA, marts, parseMart } from '../../src/metrics/marts/marts.ts';
import { openReader, type Reader } from '../../src/warehouse/reader.ts';
import { ensureViews } from '../../src/warehouse/views.ts';
import { openWritten, type Written } from '../support/written.ts';

async function readCopy({ publish }: Written): Promise<Reader> {
  const reader = await openReader(await publish());
  onTestFinished(() => reader.close());
  return reader;
}

test('every mart and column in the replica has its comment and its declared type', async () => {
  const reader = await readCopy(await openWritten());
  const views = await reader.query(
    `SELECT view_name, comment FROM duckdb_views() WHERE schema_name = '${MART_SCHEMA}'`,
  );
  expect(new Map(views.rows as [string, string][])).toEqual(new Map(marts().map(({ name, about }) => [name, about])));
  const columns = await reader.query(
    `SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE schema_name = '${MART_SCHEMA}'
     ORDER BY table_name, column_index`,
  );
  const named = marts().toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const types: Readonly<Record<string, string>> = { TIMESTAMPTZ: 'TIMESTAMP WITH TIME ZONE' };
  expect(columns.rows).toEqual(
    named.flatMap((mart) => mart.columns.map((c) => [mart.name, c.name, types[c.type] ?? c.type, c.about])),
  );
  expect(columns.rows.filter(([, , type]) => /HUGEINT|\[\]|STRUCT|MAP|DECIMAL|TIMESTAMP$/.test(String(type)))).toEqual(
    [],
  );
});

test('the marts of a warehouse that was never synced are empty, except sentiment_label', async () => {
  const reader = await readCopy(await openWritten());
  for (const { name } of marts()) {
    const { rows } = await reader.query(`SELECT * FROM ${MART_SCHEMA}.${name}`);
    if (name !== 'sentiment_label') expect(rows, name).toEqual([]);
  }
  const labels = await reader.query(`SELECT label, worth, lean FROM ${MART_SCHEMA}.sentiment_label`);
  expect(Object.fromEntries(labels.rows.map(([label, worth]) => [label, worth]))).toEqual(defaultConventions.labels);
  expect(labels.rows.map(([label, , lean]) => label === lean)).toEqual([true, true, true]);
});

test('absurd dates do not extend the calendar', async () => {
  const written = await openWritten();
  const moments = ['0001-01-01', '1969-12-31 23:59:59', '2023-05-06', '2026-11-20 12:00:00', '9999-12-31 23:59:59'];
  const values = moments.map((moment) => `(uuid(), TIMESTAMP '${moment}')`).join(', ');
  await written.run(`INSERT INTO alerts (id, detected_at) VALUES ${values}`);
  const reader = await readCopy(written);
  const { rows } = await reader.query(`SELECT min(day), max(day), count(*) FROM ${MART_SCHEMA}.dim_date`);
  expect(rows).toEqual([['2023-01-01', '2026-12-31', 4 * 365 + 1]]);
});

test('views are recreated if they differ from the existing ones, and otherwise kept', async () => {
  const { database } = await openWritten();
  const view = { name: 'one', about: "It's one.", columns: [{ name: 'a', about: 'An a.' }], sql: 'SELECT 1 AS a' };
  const other = { ...view, name: 'two', sql: 'SELECT a FROM mart.one' };
  const names = async (): Promise<unknown[][]> =>
    database.exclusive((session) =>
      session.query('SELECT view_name FROM duckdb_views() WHERE schema_name = $1 ORDER BY 1', [MART_SCHEMA]),
    );
  expect(await ensureViews(database, MART_SCHEMA, [view, other])).toBe(true);
  expect(await ensureViews(database, MART_SCHEMA, [view, other])).toBe(false);
  expect(await names()).toEqual([['one'], ['two']]);
  expect(await ensureViews(database, MART_SCHEMA, [{ ...view, about: 'Another one.' }])).toBe(true);
  expect(await names()).toEqual([['one']]);

  // If a view cannot be created, the existing ones stay.
  await expect(
    ensureViews(database, MART_SCHEMA, [view, { ...other, sql: 'SELECT b FROM mart.one' }]),
  ).rejects.toThrow();
  expect(await names()).toEqual([['one']]);
  expect(await ensureViews(database, MART_SCHEMA, [{ ...view, about: 'Another one.' }])).toBe(false);
});

test('every mart except the facts shows the names of brands, competitors and prompts beside their ids', () => {
  const names: Readonly<Record<string, readonly string[]>> = {
    brand_id: ['brand_name'],
    competitor_id: ['competitor_name', 'name'],
    prompt_id: ['prompt_text', 'text'],
    topic_id: ['topic_name'],
  };
  let found = 0;
  for (const mart of marts().filter(({ name }) => !name.startsWith('fct_'))) {
    const columns = mart.columns.map(({ name }) => name);
    for (const [id, allowed] of Object.entries(names)) {
      if (!columns.includes(id)) continue;
      const shown = mart.name === `dim_${id.slice(0, -3)}` ? ['name', 'text'] : allowed;
      expect(columns, `${mart.name} with ${id}`).toEqual(expect.arrayContaining([expect.toBeOneOf([...shown])]));
      found += 1;
    }
  }
  expect(found).toBeGreaterThan(35);
});

test('parseMart parses the header and rejects invalid ones with the file name', () => {
  const header =
    '-- One row per\n-- thing.\n-- formula: a = b\n--   + c.\n-- source: A (1927), B.\n-- column a BIGINT: An a.';
  expect(parseMart('x', `${header}\nSELECT 1 AS a\n`)).toEqual({
    name: 'x',
    about: 'One row per thing. Formula: a = b + c. Source: A (1927), B.',
    columns: [{ name: 'a', type: 'BIGINT', about: 'An a.' }],
    key: ['a'],
    time: undefined,
    sql: 'SELECT 1 AS a',
  });
  const fact = `-- Facts.\n-- key: a, b\n-- time: b\n-- column a BIGINT: An a.\n-- column b DATE: A b.\n-- column c BIGINT: A c.`;
  expect(parseMart('x', `${fact}\nSELECT 1 AS a`)).toMatchObject({ about: 'Facts.', key: ['a', 'b'], time: 'b' });
  for (const text of [
    'SELECT 1',
    '-- Only this.\nSELECT 1 AS a',
    '-- column a BIGINT: An a.\nSELECT 1 AS a',
    `${header}\n`,
    `${header}\n-- column b: No type.\nSELECT 1 AS a`,
    `${header}\n--no space\nSELECT 1 AS a`,
    `${header}\n-- key: a, b\nSELECT 1 AS a`,
    `${header}\n-- time: b\nSELECT 1 AS a`,
    `${header}\nSELECT wilson_lower(a) AS a`,
  ]) {
    expect(() => parseMart('x', text), text).toThrow(/^x\.sql/);
  }
});

const [LONE, OTHER] = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'] as const;
const RIVAL = '00000000-0000-4000-8000-0000000000ff';

/**
 * Two brands whose responses share ids, as if upstream returned the same response for both. Both brands track the same
 * competitor; the responses of the second brand mention it more often, and the brands' responses cite different pages.
 */
async function openShared(repeats: boolean) {
  const { run, query } = await openWritten();
  const both = `(VALUES ('${LONE}'::UUID), ('${OTHER}'::UUID)) b(brand_id)`;
  await run(`INSERT INTO brands (id, name) SELECT brand_id, 'brand' FROM ${both};
    INSERT INTO competitors (brand_id, id, name) SELECT brand_id, '${RIVAL}', 'rival' FROM ${both};
    INSERT INTO responses (id, brand_id, engine, created_at, brand_mentioned)
      SELECT ('00000000-0000-4000-8000-' || lpad(n::VARCHAR, 12, '0'))::UUID, brand_id, 'one',
        TIMESTAMP '2026-10-05' + n * INTERVAL 6 HOUR, false
      FROM range(40) t(n), ${both};
    INSERT INTO response_competitors (response_id, brand_id, engine, created_at, competitor_id, ordinal)
      SELECT id, brand_id, engine, created_at, '${RIVAL}', 0 FROM responses
      WHERE brand_id = '${OTHER}' OR created_at < TIMESTAMP '2026-10-08';
    INSERT INTO response_citations (response_id, brand_id, engine, created_at, ordinal, domain)
      SELECT id, brand_id, engine, created_at, 0, right(brand_id::VARCHAR, 1) || '.example' FROM responses`);
  if (repeats) {
    await run(`INSERT INTO response_competitors SELECT * REPLACE (1 AS ordinal) FROM response_competitors;
      INSERT INTO sync.shapes VALUES ('responses', 'repeats in competitors', 'true')`);
  }
  return query;
}

test.each([false, true])(
  'a response shared by two brands counts separately for each (competitors listed twice: %s)',
  async (repeats) => {
    const query = await openShared(repeats);
    const mentions = await query(
      `SELECT right(brand_id::VARCHAR, 1) AS brand, count(*) FROM ${MART_SCHEMA}.fct_entity_mention GROUP BY 1 ORDER BY 1`,
    );
    expect(mentions).toEqual([
      ['a', 12],
      ['b', 40],
    ]);
    const gaps = await query(
      `SELECT right(brand_id::VARCHAR, 1), domain, gap_responses, gap_responses_of_all FROM ${MART_SCHEMA}.source_gaps
     WHERE scope = 'all engines' ORDER BY ALL`,
    );
    // The last day is still open.
    expect(gaps).toEqual([
      ['a', 'a.example', 12, 12],
      ['b', 'b.example', 36, 36],
    ]);
  },
);

const BRAND = '11111111-1111-4111-8111-111111111111';
const THREAD = '22222222-2222-4222-8222-222222222222';

test('a thread that was deleted and restored in the same state has two periods in it', async () => {
  const { run, query } = await openWritten();
  const versions: readonly (readonly [change: string, status: string, from: string, to: string | null])[] = [
    ['inserted', 'new', '2026-01-01', '2026-01-02'],
    // Another column changed.
    ['updated', 'new', '2026-01-02', '2026-01-04'],
    ['deleted', 'new', '2026-01-04', '2026-01-04'],
    ['restored', 'new', '2026-01-10', '2026-01-11'],
    ['updated', 'saved', '2026-01-11', '2026-01-13'],
    ['updated', 'new', '2026-01-13', null],
  ];
  await run(
    `INSERT INTO brands (id) VALUES ('${BRAND}')`,
    ...versions.map(([change, status, from, to]) => {
      const until = to === null ? 'NULL' : `'${to}'`;
      return `INSERT INTO forum_opportunities_history (brand_id, id, change, status, valid_from, valid_to)
        VALUES ('${BRAND}', '${THREAD}', '${change}', '${status}', '${from}', ${until})`;
    }),
    `INSERT INTO sync.coverage (slice, resource, brand_id, pass_id, run_id, closed_at, rows)
      VALUES ('a slice', 'forum_opportunities', '${BRAND}', '${BRAND}', '${BRAND}', '2026-01-14 12:00:00', 1)`,
  );
  const found = await query(
    `SELECT status, strftime(since, '%d'), strftime(until, '%d'), hours, is_first, next_status, ended_by
     FROM ${MART_SCHEMA}.forum_states ORDER BY since`,
  );
  expect(found).toEqual([
    ['new', '01', '04', 72, true, null, 'gone'],
    ['new', '10', '11', 24, false, 'saved', 'change'],
    ['saved', '11', '13', 48, false, 'new', 'change'],
    ['new', '13', null, 36, false, null, null],
  ]);
});

test('stored conventions override the defaults, and invalid ones are ignored', async () => {
  const { run, query } = await openWritten();
  const store = async (name: string, value: string | null): Promise<void> => {
    const json = value === null ? 'NULL' : `'${value}'`;
    await run(
      `INSERT INTO sync.calibration BY NAME SELECT '${name}' AS name, ${json} AS value, 'learned' AS source, 9 AS compared, 9 AS agreed,
         'note' AS note, now()::TIMESTAMP AS decided_at`,
    );
  };
  expect(await readConventions(query)).toEqual(defaultConventions);

  const form = { whole: 1, decimals: null, mode: 'down' } as const;
  await store('visibility', JSON.stringify(form));
  await store('emptyShare', 'null');
  await store('labels', '{"a": 1.5, "__proto__": 2}');
  await store('emptyDays', '"sometimes"');
  await store('shareOfVoice', '{"whole": 10, "decimals": 1, "mode": "half-away"}');
  await store('topCompetitors', null);
  await store('nobody knows', '1');
  await store('__proto__', '{"visibility": 1}');
  const read = await readConventions(query);
  const { labels, ...others } = read;
  const { labels: _, ...defaults } = defaultConventions;
  expect(others).toEqual({ ...defaults, visibility: form, emptyShare: null });
  expect(labels['a']).toBe(1.5);
});
