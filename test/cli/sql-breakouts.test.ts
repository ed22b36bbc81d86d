import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openReadOnly } from '../../src/warehouse/file/read-only.ts';
import { chunksOf } from '../../src/warehouse/sql/checked-statements.ts';
import { type GuardedSql, openGuardedSql } from '../../src/warehouse/sql/guarded-sql.ts';
import { sampleOf } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { describeWith } from '../support/needs.ts';
import { type BreakOut, breakOuts } from './breakouts.ts';
import { expectRefusal, shareCli, until } from './helpers.ts';

const LIMITS = { timeoutMs: 120_000, memoryMb: 700, rowsMax: 100_000, bytesMax: 1_000_000 };
/** Scalar functions that DuckDB 1.5.6 does not fold. Each was reviewed. */
const SIDE_EFFECTS =
  'current_connection_id current_query current_query_id current_transaction_id currval error gen_random_uuid nextval random setseed sleep_ms stats uuid uuidv4 uuidv7 write_log';
/** Table functions that read only their arguments, tables and the catalog. */
const TABLE_FUNCTIONS =
  `duckdb_columns duckdb_constraints duckdb_dependencies duckdb_functions duckdb_indexes duckdb_keywords
  duckdb_optimizers duckdb_schemas duckdb_sequences duckdb_tables duckdb_types duckdb_views generate_series histogram
  histogram_values icu_calendar_names json_each json_tree pg_timezone_names pragma_collations pragma_metadata_info pragma_show
  pragma_storage_info pragma_table_info pragma_version range repeat repeat_row summary test_all_types unnest`.split(
    /\s+/,
  );
/** Table functions that show paths, settings or memory of the machine. */
const OWNER_FUNCTIONS =
  'duckdb_databases duckdb_memory duckdb_settings duckdb_variables pragma_database_size pragma_platform'.split(' ');
const FILES = ['analytics.duckdb', 'warehouse.duckdb'] as const;

const workspace = shareCli({ world: 'tiny' });
/** For statements that need as long as they need. */
let owner: GuardedSql;

beforeAll(async () => {
  owner = await openGuardedSql(join(workspace.data, 'analytics.duckdb'), { audience: 'owner', limits: LIMITS });
});

afterAll(() => owner.close());

/** Hashes of all files of a folder, by name. */
function hashesOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return Object.fromEntries(
    files.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  );
}

/** Runs break-outs in a service of their file. */
async function expectRejected(service: GuardedSql, all: readonly BreakOut[], timeout: GuardedSql = service) {
  for (const { sql, code, names, isEndless = false } of all) {
    const title = sql.slice(0, 120);
    const outcome = await (isEndless ? timeout : service).query(sql).catch((thrown: unknown) => thrown);
    expect(outcome, title).toMatchObject({ code, message: expect.stringMatching(names) });
    expect(String((outcome as Error).message), title).not.toMatch(/Stack Trace|duckdb\.org|INTERNAL/);
  }
  expect(await service.query('SELECT 7 AS n', 1), 'it still answers').toMatchObject([{ rows: [[7]] }]);
}

describe('break-outs of SQL', () => {
  test('all are rejected by name and change nothing', async () => {
    const before = hashesOf(workspace.data);
    const [outside, file, live] = [await temporaryFolder(), ...FILES.map((name) => join(workspace.data, name))];
    const escapesOf = (of: string) => breakOuts({ file: of, outside }).filter(({ code }) => code !== 'query_limit');
    expect(escapesOf(file as string).length).toBeGreaterThanOrEqual(80);
    await expectRejected(owner, escapesOf(file as string));
    const second = await openGuardedSql(live as string, { audience: 'owner', limits: LIMITS });
    await expectRejected(second, sampleOf(escapesOf(live as string), 20)).finally(() => second.close());
    expect(await readdir(outside)).toEqual([]);
    expect(hashesOf(workspace.data)).toEqual(before);
  });

  test('statements that never end stop at the limit named in the message', async () => {
    const before = hashesOf(workspace.data);
    const file = join(workspace.data, 'analytics.duckdb');
    const limits = { ...LIMITS, memoryMb: 400 };
    const small = await openGuardedSql(file, { audience: 'owner', limits });
    const hasty = await openGuardedSql(file, { audience: 'owner', limits: { ...limits, timeoutMs: 400 } });
    const outside = await temporaryFolder();
    const endless = breakOuts({ file, outside }).filter(({ code }) => code === 'query_limit');
    expect(endless).toHaveLength(8);
    await expectRejected(small, endless, hasty).finally(() => [small, hasty].map((service) => service.close()));
    expect(await readdir(outside)).toEqual([]);
    expect(hashesOf(workspace.data)).toEqual(before);
  });

  test('the command line rejects them with exit code 2, also with Parquet output', async () => {
    const before = hashesOf(workspace.data);
    const file = join(workspace.data, 'analytics.duckdb');
    const copy = `COPY (SELECT 1 AS a) TO '${file}' (FORMAT csv, USE_TMP_FILE false)`;
    const refused = await workspace.run('sql', `EXPLAIN ANALYZE ${copy}`, '--json');
    expectRefusal(refused, 'sql_rejected', true);
    expect(refused.stderr).not.toMatch(/Permission Error|Stack Trace/);
    const injected = `SELECT 1) TO '${file}' (FORMAT csv, USE_TMP_FILE false); SELECT (1`;
    for (const sql of [copy, injected]) {
      const { code } = await workspace.run('sql', sql, '--output', 'stolen.parquet', '--json');
      expect(code, sql).toBe(2);
    }
    expect(await readdir(workspace.folder)).not.toContain('stolen.parquet');
    expect(hashesOf(workspace.data)).toEqual(before);
  });
});

test('every DuckDB function with side effects was reviewed', async () => {
  const [found] = await owner.query(`SELECT DISTINCT function_name FROM duckdb_functions()
    WHERE function_type = 'scalar' AND (has_side_effects OR stability = 'VOLATILE') ORDER BY 1`);
  // A new version of DuckDB may add functions: list them here, and in allow-statements.ts if they do more than compute a value.
  expect(found?.rows.flat().join(' ')).toBe(SIDE_EFFECTS);
});

/** Returns the table functions of DuckDB that a caller may use. */
async function tableFunctionsOf(caller: GuardedSql): Promise<string[]> {
  const [found] = await owner.query(`SELECT DISTINCT function_name FROM duckdb_functions()
    WHERE function_type IN ('table', 'table_macro') ORDER BY 1`);
  const allowed: string[] = [];
  for (const [name] of found?.rows ?? []) {
    const said = await caller.query(`FROM "${name}"(1)`).then(String, ({ message }: Error) => message);
    if (!said.startsWith(`the table function ${name}() is not allowed; `)) allowed.push(String(name));
  }
  return allowed;
}

test('every table function that was not reviewed is rejected by its name', async () => {
  expect(await tableFunctionsOf(owner)).toEqual([...TABLE_FUNCTIONS, ...OWNER_FUNCTIONS].sort());
});

test('without the check of statements, DuckDB itself opens no file', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'copy.duckdb');
  await copyFile(join(workspace.data, 'analytics.duckdb'), file);
  const before = hashesOf(folder);
  const instance = await openReadOnly(file, { memoryLimitMb: 100, writable: 'none' });
  const connection = await instance.connect();
  for (const sql of [
    `COPY (SELECT 1 AS a) TO '${file}' (FORMAT csv, USE_TMP_FILE false)`,
    `COPY (SELECT 1 AS a) TO '${file}.wal' (FORMAT csv, USE_TMP_FILE false)`,
    `SELECT size FROM read_blob('${file}')`,
    `ATTACH '${file}.other' AS other`,
    `CALL enable_logging(storage = 'file', storage_path = '${file}.log')`,
    "SET disabled_filesystems = ''",
  ]) {
    await expect(connection.run(sql), sql).rejects.toThrow(/disabled/i);
  }
  connection.closeSync();
  instance.closeSync();
  expect(hashesOf(folder)).toEqual(before);
});

describe('a caller over the network', () => {
  let remote: GuardedSql;

  beforeAll(async () => {
    remote = await openGuardedSql(join(workspace.data, 'analytics.duckdb'), { audience: 'remote', limits: LIMITS });
  });

  afterAll(() => remote.close());

  test.each([
    'SELECT path FROM duckdb_databases',
    'SELECT file FROM pragma_database_list',
    'SELECT * FROM pg_catalog.pg_settings',
    "SELECT current_setting('allowed_paths')",
  ])('sees no paths or settings: %s', async (sql) => {
    await expect(remote.query(sql)).rejects.toMatchObject({ code: 'sql_rejected' });
  });

  test('uses no table function that shows them', async () => {
    expect(await tableFunctionsOf(remote)).toEqual(TABLE_FUNCTIONS);
  });

  test('sees no path in any catalog view', async () => {
    const [views] = await remote.query(
      "SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE internal ORDER BY ALL",
    );
    expect(views?.rows.length).toBeGreaterThan(20);
    let read = 0;
    for (const [name] of views?.rows ?? []) {
      const results = await remote.query(`FROM ${name}`).catch(() => null);
      if (results === null) continue;
      read += 1;
      expect(JSON.stringify(results), String(name)).not.toContain(workspace.folder);
    }
    expect(read).toBeGreaterThan(20);
  });

  test('sees no path in an error', async () => {
    const failed = await remote
      .query(`SELECT error('cannot read ${join(workspace.data, 'analytics.duckdb')} in /etc/some/folder')`)
      .catch((thrown: unknown) => thrown);
    expect(failed).toMatchObject({ code: 'sql_invalid', message: expect.stringContaining('cannot read <database>') });
    expect(String(failed)).not.toMatch(/\/etc|\/tmp/);
    const missing = join(workspace.data, 'missing.duckdb');
    const refused = await openGuardedSql(missing, { audience: 'remote', limits: LIMITS }).catch(String);
    expect(refused).not.toContain(workspace.data);
  });
});

describeWith(process.platform === 'linux' ? null : 'the processes are read from /proc')(
  'the process of a query',
  () => {
    test('has no environment variables and a read-only file, and fails alone if it crashes', async () => {
      const file = join(await temporaryFolder(), 'copy.duckdb');
      await copyFile(join(workspace.data, 'analytics.duckdb'), file);
      const service = await openGuardedSql(file, { audience: 'owner', limits: LIMITS });
      onTestFinished(() => service.close());
      const running = service.query(
        'SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range = -b.range',
      );
      const pid = await childReading(file);
      const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
        .split('\0')
        .map((line) => line.split('=')[0] ?? '');
      expect(names.filter((name) => !/^(NODE_CHANNEL_\w+|PWD|OLDPWD|SHLVL|_|)$/.test(name))).toEqual([]);
      const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
      expect(limits).toMatch(/^Max file size\s+0\s+0/m);
      expect(limits).toMatch(/^Max core file size\s+0\s+0/m);
      expect(limits).toMatch(new RegExp(`^Max data size\\s+${LIMITS.memoryMb * 2 * 1024 ** 2}\\s`, 'm'));
      const flags = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
        const info = readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8');
        return linkOf(pid, fd).startsWith(file) ? [Number.parseInt(/flags:\s+(\d+)/.exec(info)?.[1] ?? '', 8) & 3] : [];
      });
      expect(flags.length).toBeGreaterThan(0);
      expect(new Set(flags)).toEqual(new Set([0]));
      process.kill(pid, 'SIGABRT');
      await expect(running).rejects.toMatchObject({
        code: 'query_crashed',
        message: expect.stringContaining('SIGABRT'),
      });
      expect(await service.query('SELECT 7 AS n')).toMatchObject([{ rows: [[7]] }]);
    });

    // Of 120 such processes, two ended with SIGSEGV, which says nothing about memory.
    test('that gets no more memory from the system ends with the limit as the reason', { retry: 3 }, async () => {
      const file = join(await temporaryFolder(), 'copy.duckdb');
      await copyFile(join(workspace.data, 'analytics.duckdb'), file);
      const service = await openGuardedSql(file, { audience: 'owner', limits: LIMITS });
      onTestFinished(() => service.close());
      execFileSync('/bin/sh', ['-c', `prlimit --pid ${await childReading(file)} --data=50000000`]);
      await expect(service.query("SELECT repeat('x', 1000) FROM range(20000)")).rejects.toMatchObject({
        code: 'query_limit',
        message: 'the query needs more memory than its limit of 700 MB',
      });
      expect(await service.query('SELECT 7 AS n')).toMatchObject([{ rows: [[7]] }]);
    });
  },
);

test('a chunk that DuckDB cannot allocate is not the end of the result', async () => {
  for (const chunk of [null, { rowCount: 0 }]) {
    const result = { rowCount: 1, fetchChunk: () => Promise.resolve(chunk) };
    const chunks = chunksOf(result as unknown as Parameters<typeof chunksOf>[0]);
    await expect(chunks.next()).rejects.toThrow('Out of Memory Error: 0 of 1 rows could be read');
  }
});

test('results are in the order of the statements, and SET VARIABLE returns none', async () => {
  const results = await owner.query(
    "SET VARIABLE a = (SELECT 3); SELECT getvariable('a') AS n; EXPLAIN SELECT 1; DESCRIBE brands; FROM range(2); ;",
  );
  expect(results.map(({ rows }) => rows.length)).toEqual([1, 1, expect.any(Number), 2]);
  expect(results[0]).toEqual({ columns: [{ name: 'n', type: 'INTEGER' }], rows: [[3]] });
  await expect(owner.query('SELECT 1; SELECT 2', 1)).rejects.toMatchObject({
    code: 'sql_rejected',
    message: expect.stringContaining('2 statements return rows'),
  });
  // A rejected text with several statements does not set the variable.
  await expect(owner.query('SET VARIABLE a = 4; VACUUM')).rejects.toMatchObject({ code: 'sql_rejected' });
  expect(await owner.query("SELECT getvariable('a') AS n", 1)).toMatchObject([{ rows: [[3]] }]);
  await expect(owner.query('SELECT 1;\n\nSELECT\n nonsense')).rejects.toMatchObject({
    message: expect.stringContaining('LINE 4:'),
  });
});

test('what DuckDB cannot run here is named, with what is allowed instead', async () => {
  const saidOf = (sql: string): Promise<string> => owner.query(sql).then(String, ({ message }: Error) => message);
  for (const sql of [
    'PIVOT prompts ON intent USING count(*)',
    'PIVOT_WIDER prompts ON intent USING count(*)',
    'SELECT * FROM (PIVOT prompts ON intent USING count(*))',
    'WITH p AS (PIVOT prompts ON intent USING count(*)) FROM p',
  ]) {
    expect(await saidOf(sql), sql).toMatch(/^PIVOT without a list of values is not allowed; write PIVOT/);
  }
  expect(await saidOf('EXPLAIN ANALYZE -- nothing')).toMatch(/^EXPLAIN names no statement; allowed: SELECT/);
  expect(await saidOf('SELECT $day')).toMatch(/^the parameter \$day has no value; allowed: values in the text, or SET/);
  expect(await saidOf('; /* nothing */')).toContain('no statement');
  expect(await saidOf("SELECT CAST('x' AS INTEGER)")).toContain('Could not convert');
  expect(await saidOf('SELECT ?')).toMatch(/^the parameter \$1 has no value/);
  expect(await saidOf(`SELECT ${'1+'.repeat(2_000)}1`)).not.toContain('SET max_expression_depth');
});

test('histograms of tables and views are allowed', async () => {
  const [bins] = await owner.query('SELECT sum(count) FROM histogram(prompts, id::VARCHAR)');
  expect(bins?.rows).toEqual([[3]]);
  expect(await owner.query('FROM histogram_values(mart.dim_prompt, prompt_id, bin_count := 3)')).toHaveLength(1);
});

test('a block that is found damaged by a query is reported as damage of the file, with the file', async () => {
  const file = join(await temporaryFolder(), 'copy.duckdb');
  const whole = readFileSync(join(workspace.data, 'analytics.duckdb'));
  const found: unknown[] = [];
  // One bit in each block after the headers; a block that is needed to open the file is not of interest here.
  for (let at = 12_288; at < whole.length && found.length === 0; at += 262_144) {
    const bytes = Buffer.from(whole);
    bytes.writeUInt8((bytes[at + 2_000] ?? 0) ^ 1, at + 2_000);
    await writeFile(file, bytes);
    const service = await openGuardedSql(file, { audience: 'owner', limits: LIMITS }).catch(() => null);
    const [tables] = (await service?.query("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'")) ?? [];
    const counts = (tables?.rows ?? []).map(([name]) => `SELECT sum(hash(t)) FROM "${name}" t`);
    await service?.query(counts.join(';')).catch((thrown: unknown) => found.push(thrown));
    service?.close();
    if (found.length > 0) break;
  }
  expect(found).toEqual([expect.objectContaining({ code: 'warehouse_invalid', path: file })]);
  expect(String(found[0])).toContain('is damaged: a block has a wrong checksum');
});

function linkOf(pid: number, fd: string): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`);
  } catch {
    return '';
  }
}

/** The child process, which is the only process that has the file open. */
async function childReading(file: string): Promise<number> {
  const found = (): number | undefined =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
      .map(Number)
      .find((pid) => {
        try {
          return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(pid, fd) === file);
        } catch {
          return false;
        }
      });
  await until('the child has the file open', () => found() !== undefined);
  return found() as number;
}
