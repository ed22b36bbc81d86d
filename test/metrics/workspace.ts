import { join } from 'node:path';
import { type Choices, defaultChoices } from '../../schemas/fixtures/choices.ts';
import { calibrateConventions } from '../../src/metrics/calibration/calibrate.ts';
import { type Conventions, defaultConventions } from '../../src/metrics/calibration/conventions.ts';
import { readConventions } from '../../src/metrics/calibration/findings.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { copyWarehouse } from '../../src/warehouse/file/rebuild.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';
import { openWorkspace, type TestWorkspace, type TestWorkspaceOptions } from '../support/workspace.ts';

/** A row of `sync.calibration`. */
export interface Stored {
  readonly value: unknown;
  readonly source: string;
  readonly compared: number;
  readonly agreed: number;
  readonly note: string;
}

/** The result of calibrating a workspace. */
export interface Learned {
  readonly workspace: TestWorkspace;
  readonly unexplained: readonly string[];
  readonly conventions: Conventions;
  readonly stored: Readonly<Record<keyof Conventions, Stored>>;
}

/** Syncs a new sandbox, unless it is that of a world, and calibrates. */
export async function learnFrom(options: TestWorkspaceOptions): Promise<Learned> {
  const workspace = await openWorkspace(options);
  if (options.world === undefined) {
    const { status } = await workspace.sync();
    if (status !== 'complete') throw new Error(`sync status is ${status}; expected complete`);
  }
  return learnAgain(workspace);
}

/** Calibrates on the current warehouse of a workspace. */
export function learnAgain(workspace: TestWorkspace): Promise<Learned> {
  return learn(workspace, workspace.warehouse().database);
}

/** A row of a report of upstream. */
export type ReportRow = Readonly<Record<string, unknown>>;

/** Changes the rows of kept reports, by resource; a row that becomes null is left out. */
export type RowChanges = Readonly<Record<string, (row: ReportRow, index: number) => ReportRow | null>>;

/** Calibrates on a copy of a workspace's warehouse after changing the kept reports of upstream, and the stored data with SQL. */
export async function learnChanged(
  workspace: TestWorkspace,
  changes: RowChanges,
  ...statements: readonly string[]
): Promise<Learned> {
  const path = join(await temporaryFolder(), 'changed.duckdb');
  await copyWarehouse(workspace.warehouse().database, path);
  const { database } = await openWarehouse(path, workspace.catalogue, {});
  try {
    for (const sql of statements) await database.exclusive((session) => session.run(sql));
    for (const [resource, change] of Object.entries(changes)) await changeAnswers(database, resource, change);
    return await learn(workspace, database);
  } finally {
    await database.close();
  }
}

async function changeAnswers(database: Database, resource: string, change: RowChanges[string]): Promise<void> {
  await database.exclusive(async (session) => {
    const answers = await session.all('SELECT rowid AS id, body FROM sync.answers WHERE resource = $1', [resource]);
    for (const { id, body } of answers) {
      const parsed = JSON.parse(String(body)) as { readonly data: readonly ReportRow[] };
      const data = parsed.data.flatMap((row, index) => change(row, index) ?? []);
      await session.run('UPDATE sync.answers SET body = $1 WHERE rowid = $2', [
        JSON.stringify({ ...parsed, data }),
        Number(id),
      ]);
    }
  });
}

async function learn(workspace: TestWorkspace, database: Database): Promise<Learned> {
  const query = (sql: string) => database.exclusive((session) => session.all(sql));
  const unexplained = await calibrateConventions(database, {
    catalogue: workspace.catalogue,
    now: workspace.sandbox.world.now(),
  });
  const stored = (await query('SELECT * FROM sync.calibration')).map((row): [string, Stored] => [
    String(row['name']),
    {
      value: JSON.parse(String(row['value'])),
      source: String(row['source']),
      compared: Number(row['compared']),
      agreed: Number(row['agreed']),
      note: String(row['note']),
    },
  ]);
  const conventions = await readConventions(async (sql) => (await query(sql)).map((row) => Object.values(row)));
  return { workspace, unexplained, conventions, stored: Object.fromEntries(stored) as Learned['stored'] };
}

/** Stores conventions as if they were calibrated, which takes longer than a sync. */
export async function storeConventions({ query }: Pick<TestWorkspace, 'query'>, stored: Conventions): Promise<void> {
  const rows = Object.entries(stored).map(
    ([name, value]) => `('${name}', '${JSON.stringify(value).replaceAll("'", "''")}')`,
  );
  await query(`INSERT INTO sync.calibration BY NAME SELECT name, CAST(value AS JSON) AS value, 'learned' AS source, 1 AS compared,
    1 AS agreed, 'test' AS note, TIMESTAMP '2026-03-15' AS decided_at FROM (VALUES ${rows.join()}) t(name, value)`);
}

/** Returns the conventions of a sandbox with the given choices. Most have the name and the values of a choice. */
export function conventionsOf(given: Partial<Choices>): Conventions {
  const choices = { ...defaultChoices, ...given };
  const same = Object.entries(choices).filter(([name]) => Object.hasOwn(defaultConventions, name));
  const rounding = { decimals: choices.decimals === 'none' ? null : choices.decimals, mode: 'half-away' } as const;
  const form = { ...rounding, whole: choices.scale === 'percent' ? 100 : 1 } as const;
  return {
    ...defaultConventions,
    ...Object.fromEntries(same),
    visibility: form,
    shareOfVoice: form,
    shareOfSite: form,
    domainShare: { ...form, of: choices.domainShareOf },
    visibilityChange: { ...form, as: choices.change, of: 'exact' },
    avgPosition: rounding,
    sentiment: rounding,
    labels: labelsOf(choices),
    emptyMean: choices.emptyPosition,
    emptySentiment: choices.emptySentiment === choices.emptyPosition ? 'mean' : choices.emptySentiment,
    combinedEngine: choices.combinedEngine === 'all' ? 'all' : null,
    ungrouped: choices.ungrouped === 'null' ? { groupId: null, name: null } : null,
    repeatedMentions: choices.repeatedMentions === 'never' ? 'first' : choices.repeatedMentions,
  };
}

function labelsOf({ sentiment, unlabelled }: Choices): Conventions['labels'] {
  const all = Object.entries({ ...sentiment, '': unlabelled });
  return Object.fromEntries(all.filter((entry): entry is [string, number] => entry[1] !== null));
}
