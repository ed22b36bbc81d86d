import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createBudget } from '../../src/upstream/budget.ts';
import { openBudgetFile } from '../../src/upstream/budget-file.ts';
import { virtualClock } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';

test('a restart remembers the last minute, and no more', async () => {
  const path = join(await temporaryFolder(), 'budget');
  const clock = virtualClock();
  const { signal } = new AbortController();
  const first = createBudget({ clock, store: openBudgetFile(path, clock.now()) });
  for (let index = 0; index < 40; index++) (await first.acquire(signal)).answered({ limit: 120, remaining: null });
  await clock.advanceTo(30_000);
  for (let index = 0; index < 10; index++) (await first.acquire(signal)).answered({ limit: 120, remaining: null });
  const left = (): number => createBudget({ clock, store: openBudgetFile(path, clock.now()) }).state().left;
  expect(left()).toBe(119 - 50);
  await clock.advanceTo(62_000);
  expect(left()).toBe(119 - 10);
  await clock.advanceTo(300_000);
  expect(left()).toBe(119);
  expect(await readFile(path, 'utf8')).toBe('');
});

test('a restart remembers the limit that upstream named last, whatever else the file holds', async () => {
  const path = join(await temporaryFolder(), 'budget');
  const clock = virtualClock();
  const { signal } = new AbortController();
  const first = createBudget({ clock, store: openBudgetFile(path, clock.now()) });
  for (const limit of [120, 3_000, 600]) (await first.acquire(signal)).answered({ limit, remaining: null });
  for (let index = 0; index < 300; index++) (await first.acquire(signal)).answered({ limit: 600, remaining: null });
  const again = createBudget({ clock, store: openBudgetFile(path, clock.now()) });
  expect(again.state()).toEqual({ limit: 600, capacity: 594, left: 594 - 303 });
  await clock.advanceTo(300_000);
  expect(createBudget({ clock, store: openBudgetFile(path, clock.now()) }).state().limit).toBe(600);
});

test('times are noted before the request is sent', async () => {
  const path = join(await temporaryFolder(), 'budget');
  const clock = virtualClock();
  const budget = createBudget({ clock, store: openBudgetFile(path, clock.now()) });
  await budget.acquire(new AbortController().signal);
  expect(await readFile(path, 'utf8')).toBe(`${clock.now()}\n`);
});

test('a file of garbage is read for what it holds', async () => {
  const path = join(await temporaryFolder(), 'budget');
  const clock = virtualClock();
  const now = clock.now();
  await writeFile(path, `\0\n{"a":1}\nNaN\nInfinity\n-5\n\n1e999\n${now - 1_000}\n  ${now - 2_000}  \n12`);
  expect(openBudgetFile(path, now).load()).toEqual({ sentAt: [now - 1_000, now - 2_000], limit: null });
});

test('times from before the clock was set back count as now', async () => {
  const path = join(await temporaryFolder(), 'budget');
  const clock = virtualClock();
  await writeFile(path, `${clock.now() + 3_600_000}\n`);
  const budget = createBudget({ clock, store: openBudgetFile(path, clock.now()) });
  expect(budget.state().left).toBe(118);
  await clock.advanceTo(61_000);
  expect(budget.state().left).toBe(119);
});

test('the file is replaced as a whole and does not grow from run to run', async () => {
  const path = join(await temporaryFolder(), 'budget');
  const now = virtualClock().now();
  await writeFile(path, `${now - 500_000}\n`.repeat(10_000));
  openBudgetFile(path, now);
  expect((await stat(path)).size).toBe(0);
});
