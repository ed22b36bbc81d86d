import { appendFileSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { CheckContext } from '../../../src/operations/doctor/check-context.ts';
import { checkBudget } from '../../../src/operations/doctor/check-requests.ts';
import { createBudget } from '../../../src/upstream/budget/budget.ts';
import { type BudgetFile, openBudgetFile } from '../../../src/upstream/budget/file-store.ts';
import {
  BUDGET_KINDS,
  type BudgetRecord,
  formatRecord,
  parseRecord,
  VALUE_BOUNDS,
} from '../../../src/upstream/budget/send-record.ts';
import { type VirtualClock, virtualClock } from '../../support/clocks.ts';
import { countOf } from '../../support/counts.ts';
import { temporaryFolder } from '../../support/folders.ts';

const KEY = 'gsk_a_key_that_nobody_reads_anywhere';

async function open(folder: string, clock: VirtualClock, changes: object = {}): Promise<BudgetFile> {
  const log = await openBudgetFile({ folder, key: KEY, clock, ...changes });
  onTestFinished(() => log.close());
  return log;
}

const claim = (id: string): BudgetRecord => ({ kind: 'claim', id, value: 0, monotonicMs: 1, wallMs: 1 });
const ids = (records: readonly BudgetRecord[]): string[] =>
  records.filter(({ kind }) => kind === 'claim').map(({ id }) => id);

test('a restart restores the last minute and the limit only', async () => {
  const folder = await temporaryFolder();
  const clock = virtualClock();
  const { signal } = new AbortController();
  const first = createBudget({ clock, log: await open(folder, clock) });
  for (let index = 0; index < 40; index++) (await first.acquire(signal)).answered({ limit: 600, remaining: null });
  await clock.advanceTo(30_000);
  for (let index = 0; index < 10; index++) (await first.acquire(signal)).answered({ limit: 600, remaining: null });
  const state = async () => createBudget({ clock, log: await open(folder, clock) }).state();
  expect(await state()).toEqual({ limit: 600, capacity: 594, left: 594 - 50 });
  await clock.advanceTo(62_000);
  expect((await state()).left).toBe(594 - 10);
  await clock.advanceTo(300_000);
  expect(await state()).toEqual({ limit: 600, capacity: 594, left: 594 });
});

test('a claim is written before its request is sent, and the claim of a killed process expires', async () => {
  const folder = await temporaryFolder();
  const clock = virtualClock();
  const log = await open(folder, clock);
  await createBudget({ clock, log }).acquire(new AbortController().signal);
  const other = createBudget({ clock, log: await open(folder, clock) });
  expect(other.state().left).toBe(118);
  await clock.advanceTo(180_000);
  expect(other.state().left).toBe(118);
  await clock.advanceTo(182_000);
  expect(other.state().left).toBe(119);
});

test('each key has one log for all base URLs, and its name and text do not reveal the key', async () => {
  const folder = join(await temporaryFolder(), 'data', '.budgets');
  const clock = virtualClock();
  const budget = createBudget({ clock, log: await open(folder, clock) });
  (await budget.acquire(new AbortController().signal)).answered({ limit: 120, remaining: 100 });
  const leftFor = async (changes: object) =>
    createBudget({ clock, log: await open(folder, clock, changes) }).state().left;
  const used = budget.state().left;
  expect(used).toBeLessThan(119);
  for (const baseUrl of ['http://localhost:1/v1', 'http://127.0.0.1:1/v1', 'https://api.example.org/v2']) {
    expect(await leftFor({ baseUrl })).toBe(used);
  }
  expect(await leftFor({ key: 'gsk_another' })).toBe(119);
  const names = readdirSync(folder);
  expect(names).toHaveLength(2);
  for (const name of names) {
    expect(name).toMatch(/^[0-9a-f]{16}-1\.log$/);
    expect(readFileSync(join(folder, name), 'utf8')).not.toMatch(/gsk_|nobody|example/);
  }
});

test('implausible records are ignored, and doctor --fix overwrites them', async () => {
  const folder = await temporaryFolder();
  const clock = virtualClock();
  (await open(folder, clock)).append({ kind: 'limit', id: '-', value: 240, monotonicMs: 0, wallMs: clock.now() });
  const path = join(folder, readdirSync(folder)[0] as string);
  const at = { monotonicMs: 0, wallMs: clock.now() };
  const poison: BudgetRecord[] = [
    { kind: 'limit', id: '-', value: 999_999_999, ...at },
    { kind: 'others', id: '-', value: 999_999_998, ...at },
    { kind: 'gate', id: '-', value: 31_536_000_000, ...at },
    { kind: 'limit', id: '-', value: 0, ...at },
  ];
  appendFileSync(path, `${poison.map(formatRecord).join('\n')}\n`);
  const log = await open(folder, clock);
  const budget = createBudget({ clock, log });
  expect(budget.state()).toEqual({ limit: 240, capacity: 238, left: 238 });
  await budget.acquire(new AbortController().signal);

  const check = (fix: boolean) =>
    checkBudget({
      context: { config: { budget: () => ({ kind: 'file' }) }, clock },
      layout: { budgets: folder },
      fix,
    } as unknown as CheckContext);
  const size = statSync(path).size;
  expect((await check(false))[1]).toMatchObject({
    status: 'warning',
    message: expect.stringContaining('4 implausible records') as string,
    advice: expect.stringContaining('doctor --fix') as string,
  });
  expect((await check(false))[1]?.message).toContain('limit 999999999 (allowed: 1 to 10000)');
  expect((await check(true))[1]).toMatchObject({ status: 'ok', fixed: true });
  expect(await check(false)).toHaveLength(1);
  // The length of the file must not change, because other processes have it open.
  expect(statSync(path).size).toBe(size);
  log.append(claim('after'));
  expect(ids(log.read())).toEqual(['after']);
});

test('a record whose wall time is years in the future does not count as new', async () => {
  const folder = await temporaryFolder();
  const clock = virtualClock();
  await clock.advanceTo(1_000);
  const log = await open(folder, clock);
  const ahead = clock.now() + 10 * 365 * 24 * 3_600_000;
  log.append({ kind: 'gate', id: '-', value: 600_000, monotonicMs: 900_000_000_000, wallMs: ahead });
  const budget = createBudget({ clock, log: await open(folder, clock) });
  const slot = await budget.acquire(new AbortController().signal);
  expect(slot.waitedMs).toBe(0);
});

test('garbage, truncated and repeated lines are tolerated, and complete records count', async () => {
  const folder = await temporaryFolder();
  const clock = virtualClock();
  const log = await open(folder, clock);
  log.append(claim('a'));
  const path = join(folder, readdirSync(folder)[0] as string);
  const whole = formatRecord(claim('b'));
  appendFileSync(
    path,
    `\0\n{"a":1}\nNaN\n${'x'.repeat(200_000)}\n${whole.slice(0, -1)}\n${whole}\n\n${whole} \nclaim c 0 1`,
  );
  log.append(claim('d'));
  expect(ids(log.read())).toEqual(['a', 'b', 'd']);
  expect(ids((await open(folder, clock)).read())).toEqual(['a', 'b', 'd']);
});

test('parseRecord returns the record that formatRecord wrote', () => {
  const whole = fc.nat(999_999_999);
  const record = fc.constantFrom(...BUDGET_KINDS).chain((kind) => {
    const [min, max] = VALUE_BOUNDS[kind];
    const id = fc.stringMatching(/^[0-9a-z-]{1,32}$/);
    return fc.record({
      kind: fc.constant(kind),
      id,
      value: fc.integer({ min, max }),
      monotonicMs: whole,
      wallMs: whole,
    });
  });
  fc.assert(
    fc.property(record, fc.nat(80), (value, cut) => {
      const line = formatRecord(value);
      expect(parseRecord(line)).toEqual(value);
      if (cut < line.length) expect(parseRecord(line.slice(0, cut))).toBeNull();
    }),
  );
});

test('all readers see the same order of records across writers and files', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ who: fc.nat(3), reads: fc.boolean() }), { minLength: 1, maxLength: 120 }),
      fc.integer({ min: 1, max: 400 }),
      async (steps, fileBytesMax) => {
        const folder = await temporaryFolder();
        const clock = virtualClock();
        const logs = await Promise.all([0, 1, 2, 3].map(() => open(folder, clock, { fileBytesMax })));
        const seen: BudgetRecord[][] = [[], [], [], []];
        for (const [index, { who, reads }] of steps.entries()) {
          logs[who]?.append(claim(`${who}-${index}`));
          if (reads) seen[who]?.push(...(logs[who] as BudgetFile).read());
        }
        const all = steps.map(({ who }, index) => `${who}-${index}`);
        for (const [who, log] of logs.entries()) {
          seen[who]?.push(...log.read());
          expect(ids(seen[who] as BudgetRecord[])).toEqual(all);
          log.close();
        }
        const late = await open(folder, clock, { fileBytesMax });
        expect(ids(late.read())).toEqual(all);
        late.close();
        await rm(folder, { recursive: true });
      },
    ),
    { numRuns: countOf(20, 400) },
  );
});

test('records after a seal do not count', async () => {
  const folder = await temporaryFolder();
  const clock = virtualClock();
  const one = await open(folder, clock);
  const two = await open(folder, clock);
  one.append(claim('a'));
  const path = join(folder, readdirSync(folder)[0] as string);
  appendFileSync(path, `\n${formatRecord({ ...claim('-'), kind: 'seal' })}\n\n${formatRecord(claim('lost'))}\n`);
  two.append(claim('b'));
  one.append(claim('c'));
  expect(ids(one.read())).toEqual(['a', 'b', 'c']);
  expect(ids(two.read())).toEqual(['a', 'b', 'c']);
  expect(readdirSync(folder)).toHaveLength(2);
});

test('the log stays small over days of use and keeps the limit and the last minute', async () => {
  const folder = await temporaryFolder();
  const clock = virtualClock();
  const { signal } = new AbortController();
  const idle = createBudget({ clock, log: await open(folder, clock, { fileBytesMax: 4_096 }) });
  const busy = createBudget({ clock, log: await open(folder, clock, { fileBytesMax: 4_096 }) });
  (await busy.acquire(signal)).answered({ limit: 90, remaining: null });
  for (let minute = 1; minute <= 600; minute++) {
    await clock.advanceTo(minute * 61_000);
    for (let index = 0; index < 8; index++) (await busy.acquire(signal)).answered({ limit: 90, remaining: null });
  }
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  // 30 minutes with 16 records of at most 60 bytes each, and two files.
  expect(bytes).toBeLessThan(32 * 16 * 60 + 2 * 4_096);
  const late = createBudget({ clock, log: await open(folder, clock) });
  for (const budget of [idle, busy, late]) expect(budget.state()).toEqual({ limit: 90, capacity: 90, left: 82 });
});

test('deleted files are replaced by one new file for all processes', async () => {
  const folder = join(await temporaryFolder(), 'budgets');
  const clock = virtualClock();
  const logs = [await open(folder, clock), await open(folder, clock)] as const;
  for (const name of readdirSync(folder)) await rm(join(folder, name));
  logs[0].append(claim('a'));
  logs[1].append(claim('b'));
  logs[0].append(claim('c'));
  for (const log of logs) expect(ids(log.read())).toEqual(['a', 'b', 'c']);
  expect(ids((await open(folder, clock)).read())).toEqual(['a', 'b', 'c']);
});

test('the error names a folder or file that cannot be written', async () => {
  const clock = virtualClock();
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'file'), '');
  await expect(open(join(folder, 'file', 'budgets'), clock)).rejects.toMatchObject({
    code: 'folder_unwritable',
    message: expect.stringContaining(join(folder, 'file')) as string,
  });
  // root ignores file permissions.
  if (process.getuid?.() === 0) return;
  const budgets = join(folder, 'budgets');
  await mkdir(budgets);
  (await open(budgets, clock)).append(claim('a'));
  const path = join(budgets, readdirSync(budgets)[0] as string);
  await chmod(path, 0o400);
  await expect(open(budgets, clock)).rejects.toMatchObject({
    code: 'folder_unwritable',
    message: expect.stringContaining(path) as string,
  });
});

test('no request is sent if the log cannot be written', async () => {
  const clock = virtualClock();
  const log = await open(await temporaryFolder(), clock);
  const budget = createBudget({ clock, log });
  const { signal } = new AbortController();
  const slot = await budget.acquire(signal);
  log.close();
  slot.answered({ limit: 50, remaining: 20 });
  expect(budget.state()).toMatchObject({ limit: 50, left: 20 });
  await expect(budget.acquire(signal)).rejects.toMatchObject({ code: 'internal' });
});
