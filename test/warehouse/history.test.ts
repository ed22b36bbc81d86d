import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expectHistorySound } from '../support/history.ts';
import { applyStep, type Model } from './history-model.ts';
import { catalogue, clear, exec, histories, inOrder, openWritten, step, writeStep } from './notes.ts';

test('any sequence of pages produces the same history as a model in memory', async () => {
  const written = await openWritten(catalogue);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      await clear(written, catalogue);
      const model: Model = new Map();
      await inOrder(steps, async (one, at) => {
        await writeStep(written, catalogue, one, at);
        applyStep(model, one, at);
      });
      const expected = [...model].map(([key, { versions }]) => ({ key, versions }));
      expect(await histories(written.warehouse)).toEqual(expected.sort((a, b) => (a.key < b.key ? -1 : 1)));
      await expectHistorySound(catalogue, (sql) => exec(written.warehouse, sql));
    }),
    { numRuns: 60 },
  );
});
