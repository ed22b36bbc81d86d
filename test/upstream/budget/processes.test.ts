import { readdirSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { startSandboxWorkspace } from '../../../schemas/fixtures/start.ts';
import type { BudgetHome } from '../../../src/upstream/budget/open-budget.ts';
import { startChild } from '../../support/child.ts';
import { countOf } from '../../support/counts.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { HASTE, hastyClock } from './budget-clock.ts';
import { hastyDatabase, homeIn } from './budget-homes.ts';
import { mostInAnyMinute } from './simulation.ts';

const LIMIT = 30;
/** Longer than a claim is held, in milliseconds of the hasty clock. */
const CLAIM_ENDED_MS = 210_000;
/** Processes that are killed while they send. */
const KILLS = countOf(1, 6);
/** Records that each of two processes adds to a log. */
const RECORDS = countOf(400, 3_000);

test.for(['file', 'postgres'] as const)(
  'a budget in %s stays within the limit while processes that wait and send are killed and suspended',
  async (kind, context) => {
    const home: BudgetHome =
      kind === 'file' ? { kind, folder: await temporaryFolder() } : homeIn(await hastyDatabase(context));
    const limits = { rateLimit: LIMIT, countRefused: true, limiterClock: () => hastyClock.monotonic() };
    const sandbox = await startSandboxWorkspace({ brands: 1, prompts: 1, days: 1, latencyMs: 3, ...limits });
    onTestFinished(() => sandbox.close());
    const file = new URL('budget-child.ts', import.meta.url);
    const start = (requests: number, lanes: number) =>
      startChild(file, JSON.stringify(home), sandbox.baseUrl, sandbox.key, String(requests), String(lanes));
    const other = start(45, 2);
    const suspended = start(1_000, 3);
    await suspended.message();
    for (let kill = 0; kill < KILLS; kill++) {
      const child = start(1_000, 4);
      for (let answers = 0; answers < 2 + (kill % 3);) {
        const said = await child.message();
        const { exitCode, signalCode } = child.process;
        if (said === null) throw new Error(`the process ended before it was killed: ${exitCode ?? signalCode}`);
        if (said === 'answered') answers += 1;
      }
      await child.kill();
    }
    // When it goes on, it no longer has the permission that it had before.
    suspended.process.kill('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, CLAIM_ENDED_MS / HASTE));
    suspended.process.kill('SIGCONT');
    let last: string | null = null;
    for (let said = await other.message(); said !== null; said = await other.message()) last = said;
    expect(last).toBe('done');
    await suspended.kill();
    expect(Object.keys(sandbox.counts.byStatus)).toEqual(['200']);
    expect(mostInAnyMinute(sandbox.requests.map(({ atMs }) => atMs))).toBeLessThanOrEqual(LIMIT);
  },
);

test('processes that add records concurrently read the same order across many files', async () => {
  const folder = await temporaryFolder();
  const file = new URL('order-child.ts', import.meta.url);
  const all = 2 * RECORDS;
  const children = ['a', 'b'].map((name) => startChild(file, folder, name, String(RECORDS), String(all)));
  for (const child of children) expect(await child.message()).toBe('open');
  for (const { process } of children) process.send('go');
  const read = await Promise.all(children.map((child) => child.message()));
  expect(new Set(read).size).toBe(1);
  expect(read[0]).toMatch(`${all} ${all} `);
  // Each record counts in one file, and many files were used.
  expect(readdirSync(folder).length).toBeGreaterThan(RECORDS / 30);
});
