import { readFileSync, writeFileSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { startSandboxWorkspace, type WorkspaceOptions, type WorkspaceSandbox } from '../../schemas/fixtures/start.ts';
import type { Advance } from '../../schemas/fixtures/world/model.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { makeFolder } from '../cli/helpers.ts';
import { sampleOf } from '../support/counts.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { type Finished, runCommand } from '../support/run-command.ts';
import { readTotals } from '../support/upstream-truth.ts';
import { type Exchange, startLiar } from './liar.ts';

/** One way in which upstream lies, and how the attacked sync must end. */
export interface Lie {
  /** Description of the lie, as the end of "upstream …": "sends a limit of 999999999 requests a minute". */
  readonly title: string;
  /** Changes responses; called for every response of the attacked sync. `state` lives as long as the sync. */
  readonly tell: (exchange: Exchange, state: Map<string, unknown>) => void;
  /** Exit codes with which the attacked sync may end. 0 only if everything it stores is proven. */
  readonly exits: readonly number[];
  /** Text that the attacked sync must print on stderr or write to its drift or quarantine. */
  readonly says?: RegExp;
  /** Whether the sync that follows a healthy first sync is attacked (default), or the first one. */
  readonly attacks?: 'second' | 'first';
  /** Brands of the workspace; default 1. */
  readonly brands?: number;
  /** Arguments of the attacked sync; default none. */
  readonly args?: readonly string[];
  /** Longest time for the attacked sync, which only catches hangs; default 120 s. */
  readonly timeoutMs?: number;
  /** Additional checks on the data folder of the workspace after the attacked sync. */
  readonly check?: (after: {
    readonly folder: string;
    readonly data: string;
    readonly attacked: Finished;
  }) => Promise<void>;
}

/** Resident memory that an attacked sync may need, in MB. */
const GROWTH_MB_MAX = 450;
const TIMEOUT_MS = 120_000;
/** Upstream's changes between the healthy first sync and the attack. */
export const CHANGES: Advance = { days: 0, lateAnswers: 3, editedResponses: 2, deletedResponses: 2, deletedPrompts: 1 };
const KEY = 'gsk_sandbox_0000000000000000000000000000';

const catalogue = createCatalogue(declarations);

/** A copy of the warehouse's tables: live rows as JSON texts, sorted; engine columns are left out. */
export type Tables = Readonly<Record<string, readonly string[]>>;

/**
 * Runs the lies of each area: the attacked sync must end within its bounds and with an expected exit code, and the next sync,
 * with a truthful upstream and without flags, must leave every table equal to that of a workspace that was never lied to.
 */
export function describeLies(areas: Readonly<Record<string, readonly Lie[]>>, world: WorkspaceOptions = {}): void {
  const now = Date.now();
  const open = (brands: number): Promise<WorkspaceSandbox> =>
    startSandboxWorkspace({ prompts: 4, days: 6, rateLimit: 10_000, clock: () => now, ...world, brands });
  const references = new Map<number, Promise<Reference>>();
  const referenceOf = (brands: number): Promise<Reference> => {
    const reference = references.get(brands) ?? makeReference(open(brands));
    references.set(brands, reference);
    return reference;
  };
  afterAll(async () => {
    for (const { synced } of await Promise.all(references.values())) {
      await rm(synced, { recursive: true, force: true });
    }
  });

  describe.each(Object.entries(areas))('an upstream that lies about %s', (_area, lies) => {
    // Each takes two syncs.
    test.for(sampleOf(lies, Math.ceil(lies.length / 24)).map((lie) => [lie.title, lie] as const))(
      'upstream %s',
      { timeout: 240_000 },
      async ([, lie]) => {
        const brands = lie.brands ?? world.brands ?? 1;
        await expectRepaired(lie, await referenceOf(brands), await open(brands));
      },
    );
  });
}

async function expectRepaired(lie: Lie, { synced, undisturbed }: Reference, sandbox: WorkspaceSandbox): Promise<void> {
  onTestFinished(() => sandbox.close());
  sandbox.advance(CHANGES);
  const liar = await startLiar(sandbox.baseUrl);
  const folder = await makeFolder();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  if (lie.attacks !== 'first') await cp(synced, folder, { recursive: true });

  const state = new Map<string, unknown>();
  liar.tell((exchange) => lie.tell(exchange, state));
  const attacked = await syncAt(folder, liar.baseUrl, lie.args, lie.timeoutMs ?? TIMEOUT_MS);
  expect(liar.told(), 'responses changed by the lie').toBeGreaterThan(0);
  expect(lie.exits, `${attacked.signal ?? ''} ${attacked.stderr}`).toContain(attacked.code);
  expect(attacked.growthMb, 'growth of memory in MB').toBeLessThan(GROWTH_MB_MAX);
  expect(attacked.stderr).not.toMatch(/\n\s+at |Please report it/);
  const data = join(folder, 'data', 'default');
  if (lie.says !== undefined) expect(attacked.stderr + (await readNotes(data))).toMatch(lie.says);
  await lie.check?.({ folder, data, attacked });

  liar.tell(null);
  const healthy = await syncAt(folder, liar.baseUrl);
  expectDone(healthy);
  await expectSameTables(await readTables(folder), undisturbed, sandbox.baseUrl);
}

/** Workspaces that were never lied to, for all lies that use the same world. */
interface Reference {
  /** Folder after the first sync. */
  readonly synced: string;
  /** Tables after upstream's changes and the second sync. */
  readonly undisturbed: Tables;
}

async function makeReference(opened: Promise<WorkspaceSandbox>): Promise<Reference> {
  const sandbox = await opened;
  const [synced, folder] = [await makeFolder(), await makeFolder()];
  try {
    expectDone(await syncAt(synced, sandbox.baseUrl));
    await cp(synced, folder, { recursive: true });
    sandbox.advance(CHANGES);
    expectDone(await syncAt(folder, sandbox.baseUrl));
    return { synced, undisturbed: await readTables(folder) };
  } finally {
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A finished command with the growth of this process's resident memory at its peak, in MB; 0 on systems without /proc. */
interface Ended extends Finished {
  readonly growthMb: number;
}

/** Runs `sightline sync` in `folder`. A sync that takes longer than `timeoutMs` is interrupted, and then ends with 130. */
export async function syncAt(
  folder: string,
  baseUrl: string,
  args: readonly string[] = [],
  timeoutMs = TIMEOUT_MS,
): Promise<Ended> {
  const env = { ...NO_PROBES, SIGHTLINE_BASE_URL: baseUrl, SIGHTLINE_API_KEY: KEY };
  const before = resetPeak();
  const finished = await runCommand(['sync', ...args], { cwd: folder, env, signal: AbortSignal.timeout(timeoutMs) });
  return { ...finished, growthMb: before === null ? 0 : residentMb('VmHWM') - before };
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

/** Reads every table of a workspace's replica. */
export async function readTables(folder: string): Promise<Tables> {
  const reader = await openReader(join(folder, 'data', 'default', 'analytics.duckdb'));
  try {
    const tables: Record<string, string[]> = {};
    for (const { name, columns } of catalogue.tables) {
      const own = columns.filter(({ source }) => source.from !== 'engine').map((column) => `"${column.name}"`);
      const { rows } = await reader.query(
        `SELECT CAST(to_json(t) AS VARCHAR) FROM (SELECT ${own.join(', ')} FROM main."${name}" WHERE _deleted_at IS NULL) t ORDER BY 1`,
      );
      tables[name] = rows.map(([text]) => String(text));
    }
    return tables;
  } finally {
    reader.close();
  }
}

/** Tables of totals of the ranges that a sync requests, which depend on what it knows. */
const ranged = new Set(
  catalogue.resources.flatMap(({ change }) =>
    change.kind === 'report' && change.span === 'history' && change.eachDay !== undefined ? [change.eachDay.table] : [],
  ),
);

function rangeOf(row: string): string {
  const { brand_id: brand, range_from: from, range_to: to } = JSON.parse(row) as Record<string, unknown>;
  return `${brand} ${from} ${to}`;
}

// Compares totals with those that upstream has for the same range.
async function isTrue(table: string, row: string, baseUrl: string): Promise<boolean> {
  const stored = JSON.parse(row) as Record<string, unknown>;
  const range = { from: String(stored['range_from']), to: String(stored['range_to']) };
  // The tables are read without the columns of the engine.
  const { _extra, ...upstream } = await readTotals({ baseUrl, key: KEY }, table, String(stored['brand_id']), range);
  expect(_extra).toBeNull();
  expect(Object.keys(upstream).length, `columns of ${table}`).toBeGreaterThan(5);
  return Object.entries(upstream).every(([column, value]) => isDeepStrictEqual(stored[column], value));
}

/**
 * Fails with the tables that differ, the number of missing and surplus rows, and one row of each. Totals of ranges that only the
 * first of two syncs requested are compared with those of upstream at `baseUrl`.
 */
export async function expectSameTables(actual: Tables, expected: Tables, baseUrl: string): Promise<void> {
  const differences: string[] = [];
  for (const [name, rows] of Object.entries(expected)) {
    const has = new Set(actual[name]);
    const wanted = new Set(rows);
    const ranges = new Set(ranged.has(name) ? rows.map(rangeOf) : []);
    const isExtra = (row: string): boolean => ranged.has(name) && !ranges.has(rangeOf(row));
    const missing = [...wanted].filter((row) => !has.has(row));
    const surplus: string[] = [];
    for (const row of has) {
      if (!wanted.has(row) && !(isExtra(row) && (await isTrue(name, row, baseUrl)))) surplus.push(row);
    }
    const extra = [...has].filter(isExtra).length;
    if (missing.length + surplus.length === 0 && actual[name]?.length === rows.length + extra) continue;
    differences.push(
      `${name}: ${missing.length} missing ${missing[0] ?? ''}, ${surplus.length} surplus ${surplus[0] ?? ''}`,
    );
  }
  expect(Object.keys(expected)).toHaveLength(catalogue.tables.length);
  expect(Object.values(expected).flat().length).toBeGreaterThan(100);
  expect(differences).toEqual([]);
}

function expectDone(finished: Finished): void {
  expect(finished.code, finished.stderr).toBe(0);
}

// Reads the drift and quarantine that the attacked sync wrote.
async function readNotes(data: string): Promise<string> {
  const reader = await openReader(join(data, 'analytics.duckdb')).catch(() => null);
  if (reader === null) return '';
  try {
    const { rows: drift } = await reader.query('SELECT resource, path, kind, detail, example FROM sync.drift');
    const { rows: quarantine } = await reader.query('SELECT resource, reason FROM sync.quarantine');
    return `\n${[...drift, ...quarantine].map((row) => row.join(' ')).join('\n')}`;
  } finally {
    reader.close();
  }
}
