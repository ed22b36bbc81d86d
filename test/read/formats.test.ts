import { tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import type { ColumnKind } from '../../src/contract/fields.ts';
import { encodeRows } from '../../src/read/formats/row-formats.ts';
import type { RowSet } from '../../src/read/service.ts';
import {
  ARROW_TYPES,
  bufferOf,
  type Cell,
  cell,
  comparable,
  DUCKDB_TYPES,
  decode,
  duckDbBefore,
  fromArrow,
  parseCsv,
  readWithDuckDb,
  rowSet,
  save,
} from './formats-readers.ts';

const duckDb = duckDbBefore();
const KINDS: readonly ColumnKind[] = ['uuid', 'text', 'integer', 'number', 'boolean', 'timestamp', 'day', 'json'];
const LEAST_MICROS = -62_135_596_800_000_000n;
const GREATEST_MICROS = 253_402_300_799_999_999n;

/** A column of each kind, and rows that are difficult to encode. */
const hard: RowSet = rowSet(
  KINDS.map((kind) => ({ name: kind, kind })),
  [
    [
      '6f1c1c5e-0f6e-4f0e-8b3f-2f3c7e1d2a10',
      'žluť 😀 "quoted", a\r\nb',
      2 ** 53 - 1,
      0.1,
      true,
      '2026-03-15T15:30:00.123456Z',
      '2026-03-15',
      '[{"a":1}]',
    ],
    [null, '', -(2 ** 53 - 1), -1.5e300, false, '1969-12-31T23:59:59.999999Z', '1969-12-31', 'null'],
    KINDS.map(() => null),
    [
      'A0000000-0000-4000-8000-00000000000F',
      '\u0000\t,',
      0,
      5e-324,
      true,
      '0001-01-01T00:00:00Z',
      '0001-01-01',
      '"",\n',
    ],
    [null, 'NULL', 1, 1, null, '9999-12-31T23:59:59.999999Z', '9999-12-31', '{}'],
  ],
);

const sets: readonly (readonly [string, RowSet])[] = [
  ['hard values', hard],
  ['no rows', rowSet(hard.columns, [])],
  [
    'nulls only',
    rowSet(
      hard.columns,
      Array.from({ length: 20 }, () => KINDS.map(() => null)),
    ),
  ],
  [
    'many rows',
    rowSet(
      hard.columns,
      Array.from({ length: 10_003 }, (_, index) => hard.rows()[index % 5] ?? []),
    ),
  ],
  [
    'odd names',
    rowSet(
      ['topic.id', 'a', 'a', 'a_2', 'ž"\'`', 'with space', 'constructor'].map((name) => ({
        name,
        kind: 'text',
      })),
      [['1', '2', '3', '4', '5', '6', '7']],
    ),
  ],
];

describe.for(sets)('%s', ([, rows]) => {
  const expected = comparable(rows);

  test('survive encoding as Parquet, read by DuckDB with types', async () => {
    const path = await save('rows.parquet', await encodeRows('parquet', rows));
    const [types, found] = await readWithDuckDb(duckDb(), `read_parquet('${path}')`, rows);
    expect(types).toEqual(rows.columns.map(({ kind }) => DUCKDB_TYPES[kind]));
    expect(found).toEqual(expected);
  });

  test('survive encoding as Arrow, with types', async () => {
    const table = tableFromIPC(await encodeRows('arrow', rows));
    expect(table.schema.fields.map(({ type, nullable }) => [String(type), nullable])).toEqual(
      rows.columns.map(({ kind }) => [ARROW_TYPES[kind], true]),
    );
    expect(table.numRows).toBe(expected.length);
    expect(fromArrow(table, rows)).toEqual(expected);
  });

  test('survive encoding as CSV', async () => {
    const [header, ...found] = parseCsv(decode(await encodeRows('csv', rows)));
    expect(header).toEqual(rows.columns.map(({ name }) => name));
    expect(found).toEqual(rows.rows().map((row) => row.map((value) => (value === null ? null : String(value)))));
  });
});

describe('any rows', () => {
  test('survive encoding as CSV, read by a strict reader', async () => {
    await fc.assert(
      fc.asyncProperty(anyRows(fc.string({ unit: 'binary' })), async (rows) => {
        const [, ...found] = parseCsv(decode(await encodeRows('csv', rows)));
        const isAlone = rows.columns.length === 1;
        const text = (value: unknown): Cell => (value === null ? (isAlone ? '' : null) : String(value));
        expect(found).toEqual(rows.rows().map((row) => row.map(text)));
      }),
      { numRuns: 100 },
    );
  });

  test('survive encoding as Arrow and Parquet', async () => {
    await fc.assert(
      fc.asyncProperty(anyRows(fc.string({ unit: 'binary' })), async (rows) => {
        expect(fromArrow(tableFromIPC(await encodeRows('arrow', rows)), rows)).toEqual(comparable(rows));
        const parsers = { timestampFromMicroseconds: (micros: bigint) => micros };
        const found = await parquetReadObjects({ file: bufferOf(await encodeRows('parquet', rows)), parsers });
        expect(found.map((row) => rows.columns.map(({ name, kind }) => cell(row[name], kind)))).toEqual(
          comparable(rows),
        );
      }),
      { numRuns: 60 },
    );
  });
});

test('equal rows give equal bytes', async () => {
  for (const format of ['csv', 'parquet', 'arrow'] as const) {
    expect(await encodeRows(format, hard)).toEqual(await encodeRows(format, hard));
  }
});

test('a lone surrogate becomes the replacement character', async () => {
  const rows = rowSet([{ name: 'a', kind: 'text' }], [['x\ud83d'], ['\ude00y']]);
  const table = tableFromIPC(await encodeRows('arrow', rows));
  expect([table.getChild('a')?.get(0), table.getChild('a')?.get(1)]).toEqual(['x\ufffd', '\ufffdy']);
  expect(decode(await encodeRows('csv', rows))).toBe('a\r\nx\ufffd\r\n\ufffdy\r\n');
});

test('a table without columns is encoded with one empty column', async () => {
  const rows = rowSet([], [[], []]);
  expect(decode(await encodeRows('csv', rows))).toBe('value\r\n""\r\n""\r\n');
  expect(tableFromIPC(await encodeRows('arrow', rows)).numRows).toBe(2);
  expect(await parquetReadObjects({ file: bufferOf(await encodeRows('parquet', rows)) })).toEqual([
    { value: null },
    { value: null },
  ]);
});

// JavaScript's Parquet readers store rows in plain objects, which cannot have this field name.
test('a column can be named __proto__', async () => {
  const rows = rowSet([{ name: '__proto__', kind: 'text' }], [['x'], ['y']]);
  const path = await save('rows.parquet', await encodeRows('parquet', rows));
  expect(await readWithDuckDb(duckDb(), `read_parquet('${path}')`, rows)).toEqual([['VARCHAR'], [['x'], ['y']]]);
  expect(fromArrow(tableFromIPC(await encodeRows('arrow', rows)), rows)).toEqual([['x'], ['y']]);
  expect(decode(await encodeRows('csv', rows))).toBe('__proto__\r\nx\r\ny\r\n');
});

test('a value of the wrong kind is rejected with the name of its column', async () => {
  const wrong: readonly (readonly [ColumnKind, unknown])[] = [
    ['integer', 1.5],
    ['integer', '1'],
    ['number', '1'],
    ['boolean', 'true'],
    ['timestamp', 'yesterday'],
    ['day', '2026-02-30'],
  ];
  for (const [kind, value] of wrong) {
    const rows = rowSet([{ name: 'field', kind }], [[value]]);
    for (const format of ['parquet', 'arrow'] as const) {
      await expect(encodeRows(format, rows)).rejects.toThrow(`column field contains a value that is not a ${kind}`);
    }
  }
});

function anyRows(text: fc.Arbitrary<string>): fc.Arbitrary<RowSet> {
  const values: Record<ColumnKind, fc.Arbitrary<unknown>> = {
    uuid: fc.uuid(),
    text,
    json: fc.oneof(fc.json(), text),
    integer: fc.maxSafeInteger(),
    number: fc.double({ noNaN: true, noDefaultInfinity: true }),
    boolean: fc.boolean(),
    timestamp: fc.bigInt(LEAST_MICROS, GREATEST_MICROS).map(isoOf),
    day: fc.bigInt(LEAST_MICROS, GREATEST_MICROS).map((micros) => isoOf(micros).slice(0, 10)),
  };
  return fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 6 }).chain((kinds) => {
    const columns = kinds.map((kind, index) => ({ name: `c${index}`, kind }));
    const row = fc.tuple(...kinds.map((kind) => fc.option(values[kind])));
    return fc.array(row, { maxLength: 20 }).map((rows) => rowSet(columns, rows));
  });
}

function isoOf(micros: bigint): string {
  const inSecond = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const whole = new Date(Number((micros - inSecond) / 1000n)).toISOString().slice(0, 19);
  return `${whole}.${String(inSecond).padStart(6, '0')}Z`;
}

test('a Parquet file has row groups of at most 2,000 rows, between which other requests are served', async () => {
  const rows = rowSet(
    [{ name: 'place', kind: 'integer' }],
    Array.from({ length: 5_001 }, (_, place) => [place]),
  );
  const file = bufferOf(await encodeRows('parquet', rows));
  expect(parquetMetadata(file).row_groups.map(({ num_rows: count }) => Number(count))).toEqual([2_000, 2_000, 1_001]);
  expect(await parquetReadObjects({ file })).toHaveLength(5_001);
});
