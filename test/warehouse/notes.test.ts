import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findFlaws } from '../../src/warehouse/file/integrity.ts';
import { countOf } from '../support/counts.ts';
import { expectNone, historyChecks } from '../support/history.ts';
import { applyStep, type Model, modelRows, rowsOf } from './notes-model.ts';
import {
  clear,
  inOrder,
  itemOf,
  openWritten,
  type Step,
  scanned,
  step,
  type Written,
  windowed,
  writeStep,
} from './notes.ts';

// The detail of a deleted row overwrites values of its last version.
const note = itemOf(0);
const list: Step = { kind: 'list', brand: 0, tick: 1, pages: [[note]], days: [0], closes: false, again: false };
const detailOfDeleted: Step[] = [
  list,
  { kind: 'gone', brand: 0, tick: 1, id: note.id },
  { kind: 'detail', brand: 0, tick: 1, full: { id: note.id, body: 'long', marks: [] }, again: false },
  list,
];

// A change of an incidental field alone is no new version, but the open version gets it.
const checkedLater: Step[] = [list, { ...list, tick: 60, pages: [[itemOf(0, { checkedAt: '2026-01-02T00:00:00Z' })]] }];

// Two rows change.
const changedTwice = ['a', 'b'].map((text): Step => ({
  ...list,
  tick: 60,
  days: [0, 1],
  pages: [[itemOf(0, { text }), itemOf(1, { text })]],
}));

// Pages that are written together.
const emptyFirst: Step[] = [{ ...list, pages: [[]], closes: true }, list];
const detailTwice = [null, 'long', 'long', null].map((body): Step => ({
  kind: 'detail',
  brand: 0,
  tick: 1,
  full: { id: note.id, body, marks: [] },
  again: false,
}));

// Writes the steps, and returns the expected rows with all of their versions.
async function written(to: Written, steps: readonly Step[]): Promise<ReturnType<typeof modelRows>> {
  await clear(to);
  const model: Model = new Map();
  await inOrder(steps, async (one, at) => {
    applyStep(model, one, at, to.tables);
    const rewritten = await writeStep(to, one, at);
    const ids = one.kind === 'list' ? one.pages.flat().map(({ id }) => id) : [];
    // Pages that contain several versions of a note change it each time.
    if (new Set(ids).size === ids.length) expect(rewritten).toBe(0);
  });
  return modelRows(model);
}

const steps = fc.array(step, { maxLength: 12 });
const runs = {
  numRuns: countOf(8, 400),
  examples: [[detailOfDeleted], [checkedLater], [changedTwice], [emptyFirst], [[list, ...detailTwice]]] as [Step[]][],
};

test('any sequence of pages of a paged scan and a report produces the rows and versions of a model in memory', async () => {
  const to = await openWritten(scanned);
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const expected = await written(to, all);
      expect(await rowsOf(to)).toEqual(expected);
      await expectNone(historyChecks(scanned), to.query);
    }),
    runs,
  );
});

test('any sequence of windows produces the rows of a model, and the versions of exactly the rows that changed', async () => {
  const to = await openWritten(windowed);
  let changedMax = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const expected = await written(
        to,
        all.filter(({ kind }) => kind !== 'report'),
      );
      const found = await rowsOf(to);
      const isKept = (index: number): boolean => (found[index]?.versions ?? []).length > 0;
      expect(found).toEqual(expected.map((row, index) => (isKept(index) ? row : { ...row, versions: [] })));
      const changed = expected.filter(({ versions }) => versions.some(({ change }) => /updated|restored/.test(change)));
      expect(changed.filter((row) => !isKept(expected.indexOf(row)))).toEqual([]);
      changedMax = Math.max(changedMax, changed.length);
      await expectNone(historyChecks(windowed), to.query);
    }),
    runs,
  );
  expect(changedMax).toBeGreaterThan(1);
});

test('repeated keys, orphans, overlapping versions and gaps between versions are found, and nothing else', async () => {
  const to = await openWritten(scanned);
  const { database } = to.warehouse;
  const pages = (text: string): Step => ({ ...list, closes: true, pages: [[itemOf(1, { text }), itemOf(2)]] });
  await inOrder([pages('a'), { ...pages('b'), tick: 60 }], async (one, at) => void (await writeStep(to, one, at)));
  const find = () => database.exclusive((session) => findFlaws(session.query, scanned));
  const flawsAfter = async (sql: string) => {
    await to.query(`BEGIN; ${sql}`);
    const flaws = await find();
    await to.query('ROLLBACK');
    return flaws;
  };
  expect(await find()).toEqual([]);
  expect(await flawsAfter('INSERT INTO notes SELECT * FROM notes LIMIT 1')).toEqual([
    { table: 'notes', kind: 'repeated key', count: 1 },
  ]);
  expect(await flawsAfter(`DELETE FROM notes WHERE id = '${itemOf(2).id}'`)).toEqual([
    { table: 'note_lines', kind: 'no parent', count: 2 },
  ]);
  const gap = { table: 'notes_history', kind: 'gap or overlap of versions', count: 1 };
  const shift = (by: string): string => `UPDATE notes_history SET valid_to = valid_to ${by} WHERE valid_to IS NOT NULL`;
  expect(await flawsAfter(shift('- INTERVAL 1 SECOND'))).toEqual([gap]);
  expect(await flawsAfter(shift('+ INTERVAL 1 SECOND'))).toEqual([gap]);
  expect(await flawsAfter('UPDATE notes_history SET valid_to = NULL')).toEqual([
    { table: 'notes_history', kind: 'several open versions', count: 1 },
    gap,
  ]);
});
