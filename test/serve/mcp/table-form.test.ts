import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tokensOfJson } from '../../../src/serve/mcp/estimate-tokens.ts';
import { toTable } from '../../../src/serve/mcp/table-form.ts';
import { takeRows, toResult } from '../../../src/serve/mcp/tool-result.ts';
import { withoutTables } from './support.ts';

/** Limit that no list of these tests reaches. */
const UNLIMITED = 1_000_000;

const cell = fc.oneof(fc.string(), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null), fc.array(fc.string()));
const page = fc.record({ url: fc.webUrl(), position: fc.option(fc.integer()) });
const uniformRows = fc.array(
  fc.record({ id: fc.uuid(), name: cell, citations: fc.option(fc.array(page, { maxLength: 4 })) }),
  { minLength: 2, maxLength: 30 },
);
const anyRows = fc.array(fc.dictionary(fc.constantFrom('a', 'b', 'columns', 'rows', 'c'), cell), { maxLength: 8 });

describe('a list in a result', () => {
  it('has all values of its rows as a table, in any form of the rows', () => {
    fc.assert(
      fc.property(fc.oneof(uniformRows, anyRows), (rows) => {
        const { content, shown } = takeRows({ data: rows }, ['data'], {
          skip: 0,
          tokensMax: UNLIMITED,
          form: 'shortest',
        });
        expect(shown).toBe(rows.length);
        expect(withoutTables(content)).toEqual({ data: rows });
        expect(tokensOfJson(content)).toBeLessThanOrEqual(tokensOfJson({ data: rows }));
      }),
    );
  });

  it('is a table if its rows have the same fields, and a list of objects if it is plain', () => {
    const rows = [1, 2, 3].map((id) => ({ id, citations: id === 2 ? [] : [{ url: 'a', title: null }] }));
    const columns = ['id', { citations: ['url', 'title'] }];
    const table = {
      columns,
      rows: [
        [1, [['a', null]]],
        [2, []],
        [3, [['a', null]]],
      ],
    };
    const wanted = { skip: 0, tokensMax: UNLIMITED, form: 'shortest' } as const;
    expect(takeRows({ data: rows }, ['data'], wanted).content).toEqual({ data: table });
    expect(takeRows({ data: rows }, ['data'], { ...wanted, form: 'objects' }).content).toEqual({ data: rows });
    expect(toTable([{ a: 1 }, { b: 1 }])).toBeNull();
    expect(toTable([{ a: 1, b: 2 }, { a: 1 }])).toBeNull();
    expect(toTable(['a', 'b'])).toBeNull();
  });

  it('keeps nested lists whose items differ as they are', () => {
    const rows = [
      { id: 1, tags: [{ a: 1 }] },
      { id: 2, tags: [{ b: 1 }] },
    ];
    expect(toTable(rows)).toEqual({
      columns: ['id', 'tags'],
      rows: [
        [1, [{ a: 1 }]],
        [2, [{ b: 1 }]],
      ],
    });
  });
});

it('a result says that it is longer than its limit, if one row does not fit', async () => {
  const omittedOf = async (cells: number): Promise<unknown> => {
    const rows = [Array.from({ length: cells }, (_, index) => index)];
    const { structuredContent } = await toResult({ content: { rows }, lists: ['rows'] }, 1_500, null);
    return (structuredContent as { _sightline: { omitted?: string } })._sightline.omitted;
  };
  expect(await omittedOf(10)).toBeUndefined();
  expect(await omittedOf(5_000)).toContain('The result is longer than its limit');
});
