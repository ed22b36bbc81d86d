import { tableFromIPC } from 'apache-arrow';
import { expect, test } from 'vitest';
import { toCsv } from '../../src/read/formats/csv.ts';
import { encodeRows } from '../../src/read/formats/row-formats.ts';
import { toListPage } from '../../src/serve/data/list-page.ts';

test('a table of SQL types is a list with columns of the same kinds', async () => {
  const columns = [
    ['id', 'UUID', 'Utf8', '3f2b1c9e-0000-4000-8000-000000000001'],
    ['domain', 'VARCHAR', 'Utf8', 'a "b",\n<script>'],
    ['citations', 'BIGINT', 'Int64', 12],
    ['share', 'DOUBLE', 'Float64', 0.25],
    ['score', 'DECIMAL(18,3)', 'Float64', 1.5],
    ['is_own', 'BOOLEAN', 'Bool', true],
    ['day', 'DATE', 'Date32<DAY>', '2026-11-01'],
    ['seen_at', 'TIMESTAMP WITH TIME ZONE', 'Timestamp<MICROSECOND, UTC>', '2026-11-01T10:00:00.250Z'],
    ['engines', 'VARCHAR[]', 'Utf8', ['a', 'b']],
    ['extra', 'JSON', 'Utf8', { title: 'عربي', n: [1] }],
    ['took', 'INTERVAL', 'Utf8', '1 day'],
  ] as const;
  const row = columns.map(([, , , value]) => value);
  const page = toListPage({ columns: columns.map(([name, type]) => ({ name, type, about: '' })), rows: [row] });
  expect(page.texts.map((text): unknown => JSON.parse(text))).toEqual([
    Object.fromEntries(columns.map(([name], at) => [name, row[at]])),
  ]);
  const { schema } = tableFromIPC(new Uint8Array(await encodeRows('arrow', page.rows)));
  expect(schema.fields.map(({ name, type }) => [name, `${type}`])).toEqual(
    columns.map(([name, , type]) => [name, type]),
  );
  const csv = toCsv(
    columns.map(([name]) => name),
    page.rows.rows(),
  );
  expect(csv.split('\r\n')[0]).toBe(columns.map(([name]) => name).join());
  expect(csv).toContain('"a ""b"",\n<script>"');
  expect(csv).toContain('"[""a"",""b""]"');
});
