import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { Advance } from '../../schemas/fixtures/world/model.ts';
import { openDriftWatch } from '../../src/sync/drift-watch.ts';
import type { SyncSummary } from '../../src/sync/run-sync.ts';
import type { RunStatus } from '../../src/warehouse/ledger/runs.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';
import { WORLDS, type World } from '../support/worlds.ts';
import { type Exchange, type Liar, startLiar } from './liar.ts';

/** One way in which upstream lies, and how the attacked sync must end. */
export interface Lie {
  /** Description of the lie, as the end of "upstream …": "sends a limit of 999999999 requests a minute". */
  readonly title: string;
  /** Responses that are changed; default all. */
  readonly on?: (exchange: Exchange) => boolean;
  /** Changes a response of the attacked sync. `state` lives as long as the sync. */
  readonly tell: (exchange: Exchange, state: Map<string, unknown>) => void;
  /** How the attacked sync may end; `complete` only if everything it stores is proven. */
  readonly ends: readonly RunStatus[];
  /** Text of the troubles, drift or quarantine of the attacked sync. */
  readonly says?: RegExp;
  /** Whether the sync that follows a healthy first sync is attacked (default), or the first one. */
  readonly attacks?: 'second' | 'first';
  /** World of the workspace; default `tiny`. */
  readonly world?: World;
  /** Additional checks after the attacked sync. */
  readonly check?: (workspace: TestWorkspace) => Promise<void>;
}

/** Resident memory that an attacked sync may need, in MB. */
const GROWTH_MB_MAX = 450;
/** Longest time for a sync, which only catches hangs. */
const TIMEOUT_MS = 120_000;
/** Upstream's changes between the healthy first sync and the attack. */
const CHANGES: Advance = { days: 0, lateAnswers: 3, editedResponses: 2, deletedResponses: 2, deletedPrompts: 1 };

/** A workspace after a healthy first sync, and its upstream after changes, behind a proxy that can lie. */
interface Attacked {
  readonly workspace: TestWorkspace;
  readonly liar: Liar;
  /** Syncs, and returns the summary with the texts of its troubles and of the drift and quarantine so far. */
  sync(): Promise<SyncSummary & { readonly text: string }>;
  /** Checks that a healthy sync is complete, and leaves tables that equal upstream. */
  expectRepaired(): Promise<void>;
}

/** Opens a workspace of a world; without `isSynced`, an empty one. */
export async function openAttacked(world: World, isSynced = true): Promise<Attacked> {
  let liar: Liar | undefined;
  const between = async (sandboxUrl: string): Promise<string> => {
    liar = await startLiar(sandboxUrl);
    return liar.baseUrl;
  };
  const workspace = await openWorkspace({ between, ...(isSynced ? { world } : WORLDS[world]) });
  const { sandbox, catalogue, clock } = workspace;
  sandbox.advance(CHANGES);
  const sync = async () => {
    const drift = await openDriftWatch(catalogue, workspace.warehouse().database);
    const summary = await workspace.sync({ drift, signal: AbortSignal.timeout(TIMEOUT_MS) });
    await drift.close(clock.now());
    const { failures, warnings, error, quarantined } = summary;
    const notes =
      await workspace.query(`SELECT concat_ws(' ', resource, path, kind, detail, example) AS note FROM sync.drift
      UNION ALL SELECT concat_ws(' ', resource, reason) FROM sync.quarantine`);
    const lines = [
      ...[...warnings, ...failures].map(({ slice, message }) => `${slice}: ${message}`),
      ...(error === null ? [] : [error.message]),
      `${quarantined} items quarantined`,
      ...notes.map(({ note }) => String(note)),
    ];
    return { ...summary, text: lines.join('\n') };
  };
  const expectRepaired = async (): Promise<void> => {
    const { status, text } = await sync();
    expect(status, text).toBe('complete');
    await expectEqualToUpstream(workspace);
  };
  return { workspace, liar: liar as Liar, sync, expectRepaired };
}

/** Returns the function that changes the responses of one sync. */
export function tellerOf({ on = () => true, tell }: Lie): (exchange: Exchange) => void {
  const state = new Map<string, unknown>();
  return (exchange) => {
    if (on(exchange)) tell(exchange, state);
  };
}

/**
 * Checks a lie: the attacked sync must end within its bounds and in an expected way, and the next sync, with a truthful upstream and
 * without options, must leave every table equal to upstream.
 */
export async function expectSurvived(lie: Lie): Promise<void> {
  const { workspace, liar, sync, expectRepaired } = await openAttacked(lie.world ?? 'tiny', lie.attacks !== 'first');
  liar.tell(tellerOf(lie));
  const before = resetPeak();
  const attacked = await sync();
  if (before !== null) expect(residentMb('VmHWM') - before, 'growth of memory in MB').toBeLessThan(GROWTH_MB_MAX);
  expect(liar.told(), 'responses changed by the lie').toBeGreaterThan(0);
  expect(lie.ends, attacked.text).toContain(attacked.status);
  expectKnown(attacked);
  if (lie.says !== undefined) expect(attacked.text).toMatch(lie.says);
  await lie.check?.(workspace);

  liar.tell(null);
  await expectRepaired();
}

/** Checks that a sync was not interrupted and did not end with an error that sightline does not know. */
export function expectKnown({ status, error, text }: Awaited<ReturnType<Attacked['sync']>>): void {
  expect(status, text).not.toBe('interrupted');
  expect(error?.code, text).not.toBe('internal');
}

// Linux resets the peak when 5 is written to clear_refs. Returns the memory now, or null on systems without /proc.
function resetPeak(): number | null {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
    return residentMb('VmRSS');
  } catch {
    return null;
  }
}

function residentMb(name: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync('/proc/self/status', 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1024;
}
