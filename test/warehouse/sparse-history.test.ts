import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expectHistorySound } from '../support/history.ts';
import {
  catalogue,
  clear,
  exec,
  type Item,
  idOf,
  inOrder,
  openWritten,
  type Step,
  sparse,
  step,
  versionsOf,
  writeStep,
} from './notes.ts';

// The detail of a deleted row overwrites values of its last version.
const note: Item = { id: idOf(0), text: 'a', checkedAt: '2026-01-01T00:00:00Z', lines: [] };
const listed: Step = { kind: 'list', brand: 0, tick: 1, pages: [[note]], closes: false, again: false };
const detailOfDeleted: Step[] = [
  listed,
  { kind: 'gone', brand: 0, tick: 1, id: note.id },
  { kind: 'detail', brand: 0, tick: 1, full: { id: note.id, body: 'long', marks: [] }, again: false },
  listed,
];

test('a sparse history has the versions of the full history for the rows that changed, and no others', async () => {
  const [full, thin] = [await openWritten(catalogue), await openWritten(sparse)];
  const steps = fc.array(
    step.filter(({ kind }) => kind !== 'report'),
    { maxLength: 12 },
  );
  let changedMax = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      await clear(full, catalogue);
      await clear(thin, sparse);
      await inOrder(all, async (one, at) => {
        await writeStep(full, catalogue, one, at);
        await writeStep(thin, sparse, one, at);
      });
      const every = await versionsOf(full.warehouse);
      const kept = await versionsOf(thin.warehouse);
      const changed = every.filter(({ versions }) => versions.some(({ change }) => /updated|restored/.test(change)));
      changedMax = Math.max(changedMax, changed.length);
      const keys = new Set(kept.map(({ key }) => key));
      expect(kept).toEqual(every.filter(({ key }) => keys.has(key)));
      expect(changed.filter(({ key }) => !keys.has(key))).toEqual([]);
      await expectHistorySound(sparse, (sql) => exec(thin.warehouse, sql));
    }),
    { numRuns: 30, examples: [[detailOfDeleted]] },
  );
  expect(changedMax).toBeGreaterThan(1);
});
