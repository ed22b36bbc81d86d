import { describe, expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { ExactNumber, toExactJson } from '../../src/base/json.ts';
import { BodyError, PageBoundError } from '../../src/contract/body.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { boolean, uuid } from '../../src/contract/fields.ts';
import type { ResourceDeclaration, TableDeclaration } from '../../src/contract/resource.ts';
import { createRowReader } from '../../src/contract/rows.ts';
import { BRAND, full, ID, one, read, things } from './things.ts';

describe('a body', () => {
  test('may have its list bare or under its name', () => {
    for (const body of [{ data: [full] }, [full]]) {
      expect(read(body).rows.length).toBe(1);
    }
  });

  test.for([null, 'x', 7, {}, { data: null }, { data: {} }, { error: { message: 'no' } }, { items: [full] }])(
    'without its rows is an error of the request: %j',
    (body) => {
      expect(() => read(body)).toThrow(BodyError);
    },
  );

  test('that is an empty array has no items of any list', () => {
    const catalogue = createCatalogue(declarations);
    const rows = createRowReader(catalogue, catalogue.get('prompt_groups'));
    const read = (body: unknown) => rows.read(body, { brand_id: BRAND }, { bytes: 0, isDamaged: false, itemsMax: 10 });
    expect(read([]).map(({ table, rows: found }) => [table.name, found.length])).toEqual([
      ['topics', 0],
      ['tags', 0],
    ]);
    expect(() => read([full])).toThrow(BodyError);
  });

  test('with more items than allowed is rejected and not retried', () => {
    const catalogue = createCatalogue([...declarations, things]);
    const rows = createRowReader(catalogue, catalogue.get('things'));
    const body = { data: Array(11).fill(full), total: 7 };
    const options = { bytes: 0, isDamaged: false };
    expect(() => rows.read(body, { brand_id: BRAND }, { ...options, itemsMax: 10 })).toThrow(PageBoundError);
    expect(rows.read(body, { brand_id: BRAND }, { ...options, itemsMax: 11 })).toHaveLength(1);
  });

  test('with repeated keys reports them and stores the last item of each', () => {
    const { rows, repeated, seen } = read({ data: [full, { ...full, count: 5, id: ID.toLowerCase() }], total: 7 });
    expect(rows.map(({ values }) => values['count'])).toEqual([5]);
    expect(repeated).toEqual([rows[0]?.key]);
    expect(seen.length).toBe(1);
  });

  test('returns the first 100 rejected items and the number of all', () => {
    const { rejected, rejectedCount, unidentified } = read({ data: Array(1_000).fill([]), total: 7 });
    expect(rejected).toHaveLength(100);
    expect(rejected[0]).toMatchObject({ reason: 'the item is not an object' });
    expect({ rejectedCount, unidentified }).toEqual({ rejectedCount: 1_000, unidentified: 1_000 });
  });

  test.for<[string, object, object, RegExp]>([
    [
      'is too long',
      { label: 'x'.repeat(5_000_000) },
      { bytes: 5_000_500, isDamaged: false },
      /5\d+ characters of JSON/,
    ],
    ['contained invalid UTF-8', { label: 'x\ufffd' }, { bytes: 100, isDamaged: true }, /not UTF-8/],
  ])('with one item that %s rejects only that item', ([, changes, options, reason]) => {
    const catalogue = createCatalogue([...declarations, things]);
    const body = { data: [full, { ...full, id: BRAND, ...changes }], total: 7 };
    const reader = createRowReader(catalogue, catalogue.get('things'));
    const [table] = reader.read(body, { brand_id: BRAND }, { itemsMax: 10, bytes: 0, isDamaged: false, ...options });
    expect(table?.rows.map(({ key }) => key['id'])).toEqual([ID.toLowerCase()]);
    expect(table?.rejected).toEqual([expect.objectContaining({ reason: expect.stringMatching(reason) })]);
    expect(JSON.stringify(table?.rejected).length).toBeLessThan(200_000);
    expect(table?.seen).toHaveLength(2);
  });

  test('keeps exact numbers in unknown fields, and beside the doubles of declared fields', () => {
    const item = { ...full, score: new ExactNumber('1'.repeat(20)), serial: new ExactNumber('12345678901234567890') };
    const { values, extra } = one(item);
    expect(values['score']).toBe(Number('1'.repeat(20)));
    expect(toExactJson(extra)).toBe('{"serial":12345678901234567890}');
  });

  test('of a report may have null for its list, which does not prove deletions', () => {
    const report: ResourceDeclaration = { ...things, change: { kind: 'report', span: 'recent' } };
    const catalogue = createCatalogue([report]);
    const [rows] = createRowReader(catalogue, catalogue.get('things')).read(
      { data: null, total: 1 },
      { brand_id: BRAND },
    );
    expect(rows?.rows).toEqual([]);
    expect(rows?.unidentified).toBe(1);
  });

  test('of a report may omit its list if its other fields are present', () => {
    const totals = {
      ...(things.tables[0] as TableDeclaration),
      name: 'totals',
      at: 'body',
      key: ['id'],
      beside: {},
    } as const;
    const report: ResourceDeclaration = {
      ...things,
      change: { kind: 'report', span: 'recent' },
      tables: [things.tables[0] as TableDeclaration, { ...totals, fields: { id: uuid('Id.'), isOn: boolean('On.') } }],
    };
    const catalogue = createCatalogue([report]);
    const reader = createRowReader(catalogue, catalogue.get('things'));
    const [listed, single] = reader.read({ id: ID, isOn: false, total: 1 }, { brand_id: BRAND });
    expect(listed?.rows).toEqual([]);
    expect(single?.rows.map(({ values }) => values['is_on'])).toEqual([false]);
    expect(() => reader.read({ total: 1 }, { brand_id: BRAND })).toThrow(BodyError);
  });

  test('that overflows the stack when walked is an error of the request', () => {
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`) as unknown;
    for (const item of [{ ...full, anything: deep }, { ...full, more: deep }, { ...full, label: deep }, deep]) {
      expect(() => read({ data: [item], total: 1 })).toThrow(BodyError);
    }
  });
});
