import { readFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { gallery } from '../../../src/metrics/gallery/gallery.ts';
import { createSqlService, type SqlService } from '../../../src/operations/sql/sql-service.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { originalOf } from '../../support/worlds.ts';
import { openWritten } from '../../support/written.ts';
import { brandAttempts } from './brand-attempts.ts';

const { signal } = new AbortController();
const ALL = { session: 'owner', brands: null };

let path = '';
let service: SqlService;
let own = '';
/** Ids and names that a session for the first brand must never see. */
let secrets: string[] = [];

async function rowsOf(sql: string, brands: readonly string[] | null): Promise<readonly (readonly unknown[])[]> {
  return (await service.run({ session: 'one', brands }, { sql, rowsMax: 100_000 }, signal)).rows;
}

beforeAll(async () => {
  path = join(await originalOf('small'), 'data/default/analytics.duckdb');
  service = createSqlService({ path, catalogue, clock: systemClock, limits: { timeoutMs: 120_000 } });
  own = String((await rowsOf('SELECT min(id) FROM brands', null))[0]?.[0]);
  const not = (column: string): string => `WHERE ${column} <> '${own}'`;
  const others = await rowsOf(
    `SELECT CAST(id AS VARCHAR) FROM brands ${not('id')} UNION ALL SELECT name FROM brands ${not('id')}
     UNION ALL SELECT CAST(id AS VARCHAR) FROM prompts ${not('brand_id')}
     UNION ALL SELECT CAST(id AS VARCHAR) FROM competitors ${not('brand_id')}
     UNION ALL (SELECT CAST(id AS VARCHAR) FROM responses ${not('brand_id')} LIMIT 20)`,
    null,
  );
  secrets = others.map(([value]) => String(value));
  expect(secrets.length).toBeGreaterThan(20);
});

afterAll(() => service.close());

describe('a session for one brand', () => {
  test('sees its own brand only, in every attempt and in every table', async () => {
    for (const sql of brandAttempts({ own, file: path })) {
      const outcome = await rowsOf(sql, [own]).then(JSON.stringify, (thrown: Error) => thrown.message);
      const seen = secrets.filter((secret) => outcome.toLowerCase().includes(secret.toLowerCase()));
      expect(seen, sql).toEqual([]);
    }
    const tables = await rowsOf(
      "SELECT schema_name || '.' || table_name FROM duckdb_tables() UNION ALL SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal",
      [own],
    );
    expect(tables.length).toBeGreaterThan(80);
    const pattern = secrets.map((secret) => secret.replaceAll(/[^\w-]/gu, '.')).join('|');
    for (const [table] of tables) {
      const [[count] = []] = await rowsOf(
        `SELECT count(*) FROM ${String(table)} t WHERE regexp_matches(CAST(t AS VARCHAR), '${pattern}', 'i')`,
        [own],
      );
      expect(count, String(table)).toBe(0);
    }
  });

  test('gets complete numbers of its brand', async () => {
    const tables = ['responses', 'response_citations', 'prompts', 'mart.fct_response', 'mart.visibility_weekly'];
    const counts = (table: string): string => `SELECT count(*), count(DISTINCT brand_id) FROM ${table}`;
    const ofOwn = tables.map((table) => `${counts(table)} WHERE brand_id = '${own}'`).join(' UNION ALL ');
    const engines = 'SELECT slug FROM engines ORDER BY 1';
    const expected = [await rowsOf(ofOwn, null), await rowsOf(engines, null)];
    expect([await rowsOf(ofOwn, [own]), await rowsOf(engines, [own])]).toEqual(expected);
    expect(await rowsOf(tables.map(counts).join(' UNION ALL '), [own])).toEqual(expected[0]);
    expect(await rowsOf('SELECT count(*) FROM responses', [])).toEqual([[0]]);
  });
});

test('a result is cut at rowsMax with the true count, and the last of several results is returned', async () => {
  const cut = await service.run(ALL, { sql: 'FROM range(50) ORDER BY 1 DESC', rowsMax: 3 }, signal);
  expect(cut).toMatchObject({ rows: [[49], [48], [47]], isTruncated: true, rowsTotal: 50 });
  const last = await service.run(
    ALL,
    { sql: "SET VARIABLE a = 2; SELECT 1; SELECT getvariable('a') AS a, 3 AS a", rowsMax: 3 },
    signal,
  );
  expect(last).toMatchObject({
    columns: [{ name: 'a' }, { name: 'a' }],
    rows: [[2, 3]],
    isTruncated: false,
    rowsTotal: 1,
  });
  // Variables do not outlive the query of another session.
  expect((await service.run(ALL, { sql: "SELECT getvariable('a')", rowsMax: 3 }, signal)).rows).toEqual([[null]]);
});

test.each([
  ['FROM promts', 'unknown table "promts"; nearest: "prompts"'],
  ['SELECT nam FROM brands', 'unknown column "nam"; nearest: "name"'],
  ['SELECT b.nam FROM brands b', 'table "b" has no column "nam"; nearest: "name"'],
  ['FROM mart.fct_respons', 'unknown table "fct_respons"; nearest: "fct_response"'],
  ['FROM marts.fct_response', 'unknown schema "marts"; the schemas are main, mart and sync'],
  ['SELECT uper(name) FROM brands', 'unknown function uper(); nearest: "upper"'],
  ['SELECT x.name FROM brands', 'the query has no table "x"; it has "brands"'],
])('the error of %s names the nearest name', async (sql, message) => {
  const failed = service.run(ALL, { sql, rowsMax: 3 }, signal);
  await expect(failed).rejects.toMatchObject({ code: 'sql_invalid', message: expect.stringContaining(message) });
});

test('a query is canceled by its own session only, running or waiting', async () => {
  const endless = 'SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b';
  const running = service
    .run(ALL, { sql: endless, rowsMax: 3, id: 'first' }, signal)
    .catch((thrown: unknown) => thrown);
  const waiting = service
    .run(ALL, { sql: 'SELECT 1', rowsMax: 3, id: 'second' }, signal)
    .catch((thrown: unknown) => thrown);
  await expect(service.run(ALL, { sql: 'SELECT 1', rowsMax: 3, id: 'first' }, signal)).rejects.toMatchObject({
    code: 'invalid_parameter',
  });
  expect(service.cancel('other', 'first')).toBe(false);
  expect(service.cancel(ALL.session, 'second')).toBe(true);
  expect(await waiting).toMatchObject({ code: 'query_canceled' });
  expect(service.cancel(ALL.session, 'first')).toBe(true);
  expect(await running).toMatchObject({ code: 'query_canceled' });
  expect(service.cancel(ALL.session, 'first')).toBe(false);
  expect((await service.run(ALL, { sql: 'SELECT 1', rowsMax: 3 }, signal)).rows).toEqual([[1]]);
});

test('every question of the gallery returns its columns, on a synced and on an empty warehouse', async () => {
  const queries = gallery();
  expect(queries.map(({ number }) => number)).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));
  const empty = join(await temporaryFolder(), 'empty.duckdb');
  await (await openWritten()).publish(empty);
  const onEmpty = createSqlService({ path: empty, catalogue, clock: systemClock, limits: { timeoutMs: 120_000 } });
  try {
    let answered = 0;
    for (const { question, sql, columns, tables } of queries) {
      const found = await service.run(ALL, { sql, rowsMax: 1_000 }, signal);
      expect(
        found.columns.map(({ name }) => name),
        question,
      ).toEqual(columns);
      expect(
        tables.filter((table) => !sql.includes(table)),
        question,
      ).toEqual([]);
      if (found.rows.length > 0) answered += 1;
      const none = await onEmpty.run(ALL, { sql, rowsMax: 1_000 }, signal);
      expect([none.columns.map(({ name }) => name), none.rows], question).toEqual([columns, []]);
    }
    expect(answered).toBeGreaterThanOrEqual(12);
  } finally {
    await onEmpty.close();
  }
});

test('the process ends when it has been idle, and the next query starts another', async () => {
  const idle = createSqlService({ path, catalogue, clock: systemClock, idleMs: 1 });
  onTestFinished(() => idle.close());
  const processOf = async (): Promise<unknown> =>
    (await idle.run(ALL, { sql: "SELECT getvariable('none'), (SELECT count(*) FROM brands)", rowsMax: 1 }, signal))
      .rows;
  const before = childrenOf(process.pid);
  expect(await processOf()).toEqual([[null, 2]]);
  while (childrenOf(process.pid).length > before.length) await new Promise((next) => setImmediate(next));
  expect(await processOf()).toEqual([[null, 2]]);
});

test('a query after a publish reads the new replica', async () => {
  const copy = join(await temporaryFolder(), 'analytics.duckdb');
  await cp(path, copy);
  const reopened = createSqlService({ path: copy, catalogue, clock: systemClock });
  onTestFinished(() => reopened.close());
  const count = async (brands: readonly string[] | null): Promise<unknown> =>
    (await reopened.run({ session: 'one', brands }, { sql: 'SELECT count(*) FROM brands', rowsMax: 1 }, signal)).rows;
  expect([await count(null), await count([own])]).toEqual([[[2]], [[1]]]);
  const first = await reopened.schema(ALL, signal);
  await (await openWritten()).publish(copy);
  expect([await count(null), await count([own])]).toEqual([[[0]], [[0]]]);
  expect((await reopened.schema(ALL, signal)).version).not.toBe(first.version);
});

/** Ids of the child processes of a process. */
function childrenOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
}
