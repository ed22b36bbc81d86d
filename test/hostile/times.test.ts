import { cp, rm } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { makeFolder } from '../cli/helpers.ts';
import { startStillSandbox } from '../support/still-sandbox.ts';
import { describeLies, expectSameTables, readTables, syncAt } from './attack.ts';
import { startLiar } from './liar.ts';
import { dateHeaderLies, itemTimeLies } from './lies/times.ts';

describeLies({ 'the times of items': itemTimeLies, 'its clock': dateHeaderLies }, { brands: 2 });

test('an item with an implausible time that upstream never corrects makes one run partial, and not every run', async () => {
  const sandbox = await startStillSandbox({ brands: 1, prompts: 4, days: 4 });
  onTestFinished(() => sandbox.close());
  const liar = await startLiar(sandbox.baseUrl);
  const [folder, truthful] = [await makeFolder(), await makeFolder()];
  onTestFinished(async () => {
    for (const each of [folder, truthful]) await rm(each, { recursive: true, force: true });
  });
  expect(await syncAt(folder, liar.baseUrl)).toMatchObject({ code: 0 });
  await cp(folder, truthful, { recursive: true });
  const id = '00000000-0000-4000-8000-000000000001';
  liar.tell((exchange) => {
    if (!exchange.path.endsWith('/responses') || exchange.query.has('cursor')) return;
    exchange.edit(
      ({ data }) =>
        void data.push({
          ...data[0],
          id,
          prompt: 'always there',
          createdAt: '0001-01-01T00:00:00Z',
          competitors: [],
          citations: [],
          promptId: id,
          engine: 'chatgpt',
          brandMentioned: false,
          brandPosition: null,
          brandSentiment: null,
        }),
    );
  });
  const first = await syncAt(folder, liar.baseUrl, ['--json']);
  expect(first, first.stderr).toMatchObject({ code: 3 });
  const second = await syncAt(folder, liar.baseUrl, ['--json']);
  expect(second, second.stderr).toMatchObject({ code: 0 });
  expect(second.stdout).toMatch(/"quarantined":[1-9]/);
  const third = await syncAt(folder, liar.baseUrl, ['--json']);
  expect(third, third.stderr).toMatchObject({ code: 0 });
  await expectSameTables(await readTables(folder), await readTables(truthful), sandbox.baseUrl);
});
