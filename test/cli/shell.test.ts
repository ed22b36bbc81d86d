import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCompleter } from '../../src/cli/shell/shell-text.ts';
import { runShell } from '../../src/cli/shell/shell.ts';
import { ownerLimits } from '../../src/operations/query.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { type GuardedSql, openGuardedSql } from '../../src/warehouse/sql/guarded-sql.ts';
import { isFinished } from '../../src/warehouse/sql/sql-text.ts';
import { temporaryFolder } from '../support/folders.ts';

/** A shell on a small database, with a simulated terminal. */
async function openShell() {
  const folder = await temporaryFolder();
  const path = join(folder, 'analytics.duckdb');
  const database = await openDatabase(path);
  await database.exclusive((session) =>
    session.run(`CREATE TABLE pets AS SELECT 'cat' AS kind, 4 AS legs; COMMENT ON TABLE pets IS 'Animals at home.';
      COMMENT ON COLUMN pets.legs IS 'How many legs.'; CREATE SCHEMA mart; CREATE VIEW mart.legless AS SELECT * FROM pets`),
  );
  await database.close();
  const input = new PassThrough();
  const output = new PassThrough();
  let shown = '';
  output.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  const historyFile = join(folder, '.sql_history');
  const stop = new AbortController();
  const statements: string[] = [];
  const start = (): Promise<void> =>
    runShell({
      open: async () => {
        const guarded = await openGuardedSql(path, { audience: 'owner', limits: ownerLimits() });
        const sql: GuardedSql = {
          ...guarded,
          query: (...given) => {
            statements.push(given[0]);
            return guarded.query(...given);
          },
        };
        return { sql, asOf: Date.UTC(2026, 10, 20), isBehind: false };
      },
      format: 'csv',
      historyFile,
      input,
      output,
      signal: stop.signal,
    });
  const seen = async (text: string): Promise<void> => {
    for (let polls = 0; !shown.includes(text); polls++) {
      if (polls > 500) throw new Error(`waited in vain for ${JSON.stringify(text)} in ${JSON.stringify(shown)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    shown = shown.slice(shown.indexOf(text) + text.length);
  };
  onTestFinished(() => {
    input.end();
  });
  return { start, input, seen, statements, historyFile, stop };
}

describe('the shell', () => {
  test('runs statements of several lines, continues after errors, and stores its history with private permissions', async () => {
    const { start, input, seen, historyFile } = await openShell();
    const ended = start();
    await seen('Data as of 2026-11-20 00:00 UTC, read-only.');
    await seen('sightline> ');
    input.write("select kind, ';' as mark\n");
    await seen('...> ');
    input.write('from pets;\n');
    await seen('kind,mark');
    await seen('cat,;');
    input.write('select nonsense;\n');
    await seen('sightline: Binder Error');
    input.write('insert into pets values (1, 2);\n');
    await seen('sightline: INSERT is not allowed');
    input.write("select 1 as one; set variable v = 2; select getvariable('v') as two;\n");
    await seen('one\r\n1');
    await seen('two\r\n2');
    input.write('.tables LEG\n');
    await seen('mart.legless');
    input.write('.describe pets\n');
    await seen('legs,INTEGER,How many legs.');
    input.write('.describe cats\n');
    await seen('unknown table "cats"');
    input.write(".tables $'\n");
    await seen('name,about');
    input.write('.toString\n');
    await seen('unknown command .toString');
    input.write('.format json\n.nonsense\n');
    await seen('unknown command .nonsense');
    input.write('select legs from pets;\n');
    await seen('[{"legs":4}]');
    input.write('.format xml\n');
    await seen('allowed: table, csv, json, ndjson');
    input.write('.refresh\n');
    await seen('Data as of');
    input.write('.quit\n');
    await ended;
    expect(await readFile(historyFile, 'utf8')).toContain('select legs from pets;');
    expect((await stat(historyFile)).mode & 0o777).toBe(0o600);
  });

  test('completes names with Tab', async () => {
    const { start, input, seen } = await openShell();
    const ended = start();
    await seen('sightline> ');
    input.write('select kind from mart.leg');
    await seen('leg');
    input.write('\t');
    await seen('less');
    input.write(';\n');
    await seen('kind');
    await seen('cat');
    input.end();
    await ended;
  });

  test('cancels the running statement on Ctrl-C, and continues', async () => {
    const { start, input, seen, statements } = await openShell();
    const ended = start();
    await seen('sightline> ');
    input.write('select count(*) from range(100000000000) a, range(1000) b;\n');
    await expect.poll(() => statements.join(), { timeout: 20_000 }).toContain('range(1000)');
    input.write('\u0003');
    await seen('sightline: INTERRUPT');
    input.write('select 7 as n;\n');
    await seen('n\r\n7');
    input.write('select 1\n');
    await seen('...> ');
    input.write('\u0003');
    await seen('sightline> ');
    input.write('select 8 as m;\n');
    await seen('8');
    input.end();
    await ended;
  });

  test('ends when its signal is aborted', async () => {
    const { start, seen, stop } = await openShell();
    const ended = start();
    await seen('sightline> ');
    stop.abort(new Error('stopped'));
    await expect(ended).rejects.toThrow('stopped');
  });
});

test.each([
  ['select 1;', true],
  ['select 1 ; -- done', true],
  ['select 1; /* done */ ', true],
  ['select 1', false],
  ["select ';", false],
  ["select ';'", false],
  ["select 'it''s';", true],
  ['select "a;', false],
  ['select 1 -- ;', false],
  ['select 1 /* ;', false],
  ['select $$;$$;', true],
  ['select $x$ ; $$ ', false],
  ["select e'\\'; -- ';", true],
  ['select /* /* */ ; */ 1', false],
  ['select /* /* */ ; */ 1;', true],
  [';', true],
  ['', false],
])('whether %j is a finished statement: %j', (sql, finished) => {
  expect(isFinished(sql)).toBe(finished);
});

test('the completer completes tables with and without schema, columns and SQL keywords, ignoring case', () => {
  const complete = createCompleter(['pets', 'mart.legless'], ['legs', 'Kind']);
  expect(complete('select le')).toEqual([['LEFT', 'legs'], 'le']);
  expect(complete('select * from MART.')).toEqual([['mart.legless'], 'MART.']);
  expect(complete('select ki')).toEqual([['Kind'], 'ki']);
  expect(complete('select ')).toEqual([[], '']);
});
