import { readdirSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { startSandboxWorkspace, type WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import { makeFolder } from '../cli/helpers.ts';
import { CHANGES, expectSameTables, type Lie, readTables, syncAt } from './attack.ts';
import { type Exchange, startLiar } from './liar.ts';

/** Number of random sequences; `LIES=100` for a night. */
const CASES = Number(process.env['LIES'] ?? 1);
const SEED = Number(process.env['LIES_SEED'] ?? 12);
/** Attacked syncs per sequence, lies per attacked sync, and healthy syncs that may follow. */
const ATTACKS = 2;
const LIES_MAX = 2;
const HEALTHY_MAX = 2;

const folder = join(import.meta.dirname, 'lies');
const modules = await Promise.all(
  readdirSync(folder).map((name) => import(join(folder, name)) as Promise<Record<string, readonly Lie[]>>),
);
const lies = modules
  .flatMap((module) => Object.values(module).flat())
  .map((lie) => ({ ...lie, [fc.toStringMethod]: () => lie.title }));

test('a healthy sync repairs the effects of random lies in random order', {
  timeout: 120_000 + CASES * 240_000,
}, async () => {
  expect(lies.length).toBeGreaterThan(10);
  const now = Date.now();
  const open = (): Promise<WorkspaceSandbox> =>
    startSandboxWorkspace({ brands: 2, prompts: 4, days: 6, rateLimit: 10_000, clock: () => now });
  const sandbox = await open();
  const synced = await makeFolder();
  const undisturbed = await makeFolder();
  expect((await syncAt(synced, sandbox.baseUrl)).code).toBe(0);
  await cp(synced, undisturbed, { recursive: true });
  sandbox.advance(CHANGES);
  expect((await syncAt(undisturbed, sandbox.baseUrl)).code).toBe(0);
  const expected = await readTables(undisturbed);
  await sandbox.close();

  const attack = fc.uniqueArray(fc.constantFrom(...lies), { minLength: 1, maxLength: LIES_MAX });
  const sequence = fc.array(attack, { minLength: ATTACKS, maxLength: ATTACKS });
  const property = fc.asyncProperty(sequence, async (attacks) => {
    const lying = await open();
    lying.advance(CHANGES);
    const liar = await startLiar(lying.baseUrl);
    const workspace = await makeFolder();
    try {
      await cp(synced, workspace, { recursive: true });
      for (const told of attacks) {
        liar.tell(tellAll(told));
        const attacked = await syncAt(workspace, liar.baseUrl);
        expect(attacked.signal, attacked.stderr).toBeNull();
        expect(attacked.stderr).not.toMatch(/\n\s+at |Please report it/);
      }
      liar.tell(null);
      let healthy = await syncAt(workspace, liar.baseUrl);
      for (let run = 2; healthy.code !== 0 && run <= HEALTHY_MAX; run++)
        healthy = await syncAt(workspace, liar.baseUrl);
      expect(healthy.code, healthy.stderr).toBe(0);
      await expectSameTables(await readTables(workspace), expected, lying.baseUrl);
    } finally {
      await lying.close();
      await rm(workspace, { recursive: true, force: true });
    }
  });
  // A smaller sequence costs as much to find as a new one.
  await fc.assert(property, { numRuns: CASES, seed: SEED, endOnFailure: true });
});

function tellAll(told: readonly Lie[]): (exchange: Exchange) => void {
  const states = told.map(() => new Map<string, unknown>());
  return (exchange) => {
    for (const [index, lie] of told.entries()) {
      try {
        lie.tell(exchange, states[index] as Map<string, unknown>);
      } catch {
        // An earlier lie left nothing to change for this one.
      }
    }
  };
}
