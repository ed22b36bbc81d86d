import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { declarations } from '../../../schemas/catalogue.ts';
import { createCatalogue } from '../../../src/contract/catalogue.ts';
import { writePlainFile } from '../../../src/publish/snapshot/plain-files.ts';
import { select } from '../../../src/publish/snapshot/selection.ts';
import { toExcelCsv } from '../../../src/read/formats/csv.ts';
import { openDatabase } from '../../../src/warehouse/database.ts';
import { openCopySource } from '../../../src/warehouse/file/copy-out.ts';
import { temporaryFolder } from '../../support/folders.ts';

/** Texts of strangers, and what a cell of CSV for Excel has: a formula is shown, and not computed. */
const CELLS: readonly (readonly [text: string, field: string])[] = [
  ['=1+1', "'=1+1"],
  ['=cmd|" /C calc"!A0', `"'=cmd|"" /C calc""!A0"`],
  ['+49 30', "'+49 30"],
  ['-1', "'-1"],
  ['@sum', "'@sum"],
  ['\t=1', "'\t=1"],
  ['\r=1', `"'\r=1"`],
  ['\n=1', `"'\n=1"`],
  ['＝1', "'＝1"],
  ['a=1', 'a=1'],
  ['a;b', '"a;b"'],
  ['a,b', 'a,b'],
  ['Zoë 😀', 'Zoë 😀'],
];

test('CSV for Excel has a byte order mark, semicolons, and no formulas', () => {
  const rows = CELLS.map(([text]) => [text, -1.5]);
  const expected = CELLS.map(([, field]) => `${field};-1.5\r\n`).join('');
  expect(toExcelCsv(['=name', 'n'], rows)).toBe(`\ufeff'=name;n\r\n${expected}`);
});

test('an exported table has the same cells', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'w.duckdb');
  const database = await openDatabase(path, { threads: 1 });
  await database.exclusive(async ({ run }) => {
    await run('CREATE TABLE facts (place BIGINT, text VARCHAR)');
    for (const [place, [text]] of CELLS.entries()) await run('INSERT INTO facts VALUES ($1, $2)', [place - 5, text]);
  });
  await database.close();
  const source = await openCopySource(path, folder);
  try {
    const chosen = { tables: ['facts'], brands: null, from: null, to: null };
    const [facts] = await select(source, createCatalogue(declarations), chosen);
    if (facts === undefined) throw new Error('facts is not selected');
    const form = { compression: 'snappy', writeArrow: () => Promise.reject(new Error('not used')) } as const;
    const { file } = await writePlainFile(source, facts, folder, { format: 'csv-excel', ...form });
    const text = await readFile(join(folder, file), 'utf8');
    expect(file).toBe('facts.csv');
    expect(text).toBe(`\ufeffplace;text\n${CELLS.map(([, field], place) => `${place - 5};${field}\n`).join('')}`);
  } finally {
    source.close();
  }
});
