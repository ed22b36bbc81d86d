import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readXlsx } from 'hucre/xlsx';
import { describe, expect, test } from 'vitest';
import { declarations } from '../../../schemas/catalogue.ts';
import { createCatalogue } from '../../../src/contract/catalogue.ts';
import { select } from '../../../src/publish/snapshot/selection.ts';
import { writeWorkbook } from '../../../src/publish/snapshot/workbook.ts';
import { openDatabase } from '../../../src/warehouse/database.ts';
import { openCopySource } from '../../../src/warehouse/file/copy-out.ts';
import { temporaryFolder } from '../../support/folders.ts';

const catalogue = createCatalogue(declarations);
/** Columns of every table that selects rows by brand. */
const BRANDS = 'CREATE TABLE brands (id UUID, name VARCHAR)';

async function writeTables(...statements: string[]) {
  const folder = await temporaryFolder();
  const path = join(folder, 'w.duckdb');
  const database = await openDatabase(path, { memoryLimitMb: 256, threads: 1 });
  await database.exclusive(async ({ run }) => {
    for (const statement of statements) await run(statement);
  });
  await database.close();
  const source = await openCopySource(path, folder);
  try {
    const names = (await source.all('SELECT table_name FROM duckdb_tables() ORDER BY 1')).map((row) =>
      String(row['table_name']),
    );
    const tables = await select(source, catalogue, { tables: names, brands: null, from: null, to: null });
    const file = join(folder, 'out.xlsx');
    const files = await writeWorkbook(source, tables, file, () => undefined);
    return { files, book: await readXlsx(await readFile(file)) };
  } finally {
    source.close();
  }
}

describe('a workbook, read by another library', () => {
  test('has a sheet for each table with typed cells, a frozen header, a filter and widths', async () => {
    const { files, book } = await writeTables(
      'CREATE TABLE facts (id UUID, text VARCHAR, n BIGINT, share DOUBLE, moment TIMESTAMP, day DATE, yes BOOLEAN, record JSON)',
      `INSERT INTO facts VALUES
        ('00000000-0000-4000-8000-000000000001', '=1+1', 9007199254740991, 0.1, '2026-11-22 14:02:03', '2026-11-22', true, '{"a": 1}'),
        ('00000000-0000-4000-8000-000000000002', '+49', 9007199254740992, 'nan', '1899-12-31 00:00:00', '1850-01-01', false, NULL),
        ('00000000-0000-4000-8000-000000000003', NULL, NULL, NULL, NULL, NULL, NULL, '[]'),
        ('00000000-0000-4000-8000-000000000004', '-1', -5, 1e300, '9999-12-31 23:59:59', '1900-03-01', NULL, NULL),
        ('00000000-0000-4000-8000-000000000005', '@sum <&> "x" ' || chr(10) || 'Zoë 😀', 0, -0.5, NULL, NULL, NULL, NULL)`,
      'CREATE TABLE many AS SELECT range AS n FROM range(2500)',
      'CREATE TABLE none (id UUID)',
      `CREATE TABLE "${'x'.repeat(40)}" (id INTEGER)`,
      `CREATE TABLE "${'X'.repeat(41)}y" (id INTEGER)`,
    );
    const names = files.map(({ name, sheet, rows, file }) => [name, sheet, rows, file]);
    expect(names).toEqual([
      [`${'X'.repeat(41)}y`, `${'X'.repeat(29)}~2`, 0, 'out.xlsx'],
      ['facts', 'facts', 5, 'out.xlsx'],
      ['many', 'many', 2500, 'out.xlsx'],
      ['none', 'none', 0, 'out.xlsx'],
      ['x'.repeat(40), `${'x'.repeat(29)}~3`, 0, 'out.xlsx'],
    ]);
    expect(book.sheets.map(({ name }) => name)).toEqual(names.map(([, sheet]) => sheet));
    expect(book.sheets[2]?.rows.map(([n]) => n)).toEqual(['n', ...Array(2500).keys()]);
    const facts = book.sheets[1];
    expect(facts?.freezePane).toMatchObject({ rows: 1 });
    expect(facts?.autoFilter).toMatchObject({ range: 'A1:H6' });
    expect(facts?.columns?.map(({ width }) => width)).toEqual([36, 19, 12, 14, 20, 12, 10, 10]);
    const utc = (text: string): Date => new Date(`${text}Z`);
    expect(facts?.rows).toEqual([
      ['id', 'text', 'n', 'share', 'moment', 'day', 'yes', 'record'],
      [
        '00000000-0000-4000-8000-000000000001',
        '=1+1',
        9007199254740991,
        0.1,
        utc('2026-11-22T14:02:03'),
        utc('2026-11-22T00:00:00'),
        true,
        '{"a": 1}',
      ],
      [
        '00000000-0000-4000-8000-000000000002',
        '+49',
        '9007199254740992',
        'NaN',
        '1899-12-31T00:00:00.000000Z',
        '1850-01-01',
        false,
        null,
      ],
      ['00000000-0000-4000-8000-000000000003', null, null, null, null, null, null, '[]'],
      [
        '00000000-0000-4000-8000-000000000004',
        '-1',
        -5,
        1e300,
        utc('9999-12-31T23:59:59'),
        utc('1900-03-01T00:00:00'),
        null,
        null,
      ],
      ['00000000-0000-4000-8000-000000000005', '@sum <&> "x" \nZoë 😀', 0, -0.5, null, null, null, null],
    ]);
  });

  test('keeps characters that XML does not allow, as Excel writes them', async () => {
    const { book } = await writeTables(
      'CREATE TABLE odd (text VARCHAR)',
      `INSERT INTO odd VALUES ('a' || chr(11) || 'b'), ('_x000B_'), ('  spaces ' || chr(9))`,
    );
    expect(
      book.sheets[0]?.rows
        .slice(1)
        .map(([text]) => text)
        .sort(),
    ).toEqual(['  spaces \t', '_x000B_', 'a\u000bb']);
  });

  test('is refused before it is written if a table does not fit, with the count and what to do', async () => {
    const rows = writeTables(BRANDS, 'CREATE TABLE large AS SELECT range AS n FROM range(1048576)');
    await expect(rows).rejects.toMatchObject({
      code: 'usage',
      message: '--format xlsx: large has 1048576 rows; allowed: at most 1048575 rows in a sheet',
      hint: expect.stringMatching(/--from.*--to.*--tables.*--format csv/),
    });
    const long =
      "SELECT repeat('a', 32767) AS text UNION ALL SELECT repeat('a', 32768) UNION ALL SELECT repeat('😀', 16384)";
    await expect(writeTables(`CREATE TABLE texts AS ${long}`)).rejects.toMatchObject({
      code: 'usage',
      message:
        '--format xlsx: texts has 2 values of text with more than 32767 characters; allowed: at most 32767 characters in a cell',
    });
  });
});
