import { join, resolve } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import { SightlineError } from '../../base/errors.ts';
import { number, time, type ValueOf } from '../../contract/operation/json-parts.ts';
import { type Base, selectChanges, writeState } from '../../publish/snapshot/changes.ts';
import { layoutOf } from '../../publish/snapshot/layout.ts';
import { openPosition, type PositionStore } from '../../publish/snapshot/positions.ts';
import type { Selected } from '../../publish/snapshot/selection.ts';
import { findSnapshot, type Since } from '../../publish/snapshot/since.ts';
import type { CopySource } from '../../warehouse/file/copy-out.ts';
import { readOrigin } from '../../warehouse/ledger/origin.ts';
import { fileLiteral } from '../../warehouse/schema.ts';
import { catalogueOf } from '../../workspace/catalogues.ts';
import { readNewestReplica } from '../status.ts';

/** The data that the changes of an incremental export lead from and to. */
export const changeRange = z.object({
  name: z.string().nullable().describe('name of the position; null for an export since a snapshot or a time'),
  since: z
    .object({ position: number.nullable(), snapshot: z.string().nullable(), at: time })
    .nullable()
    .describe('null if all rows are inserts'),
  until: z.object({ position: number.nullable(), at: time }),
});

/** The data that the changes of an incremental export lead from and to. */
export type ChangeRange = ValueOf<typeof changeRange>;

/** The earlier data that an incremental export compares with. */
export interface ExportBase {
  readonly range: ChangeRange;
  /** Absolute paths of the folders with its files. */
  readonly folders: readonly string[];
  /** Replaces the rows of a table by its changes. */
  changesOf(source: CopySource, selected: Selected): Promise<Selected>;
  /** Writes the state of a table that the next export compares with; `isChanged` tells whether it has changes. */
  keep(source: CopySource, selected: Selected, isChanged: boolean): Promise<void>;
  /** Runs `publish`, then moves the position, if there is one. Throws `warehouse_locked`. */
  finish(publish: () => Promise<void>): Promise<void>;
}

/**
 * Opens the data that `since` means. `name` is the name of the position.
 *
 * @throws `usage` for a snapshot or time that is not available or in the future, `config_invalid` if the position is damaged. The
 * functions of the result throw it if earlier rows are missing or damaged
 */
export async function openBase(
  { config, clock }: { readonly config: WorkspaceConfig; readonly clock: Clock },
  since: Since,
  name: string | null,
): Promise<ExportBase> {
  const at = new Date(clock.now()).toISOString();
  if (since.kind !== 'last') return openSnapshotBase(config, since, at);
  if (name === null)
    throw new SightlineError('usage', '--since last requires a name for its position; allowed: --name');
  const store = await openPosition(resolve(layoutOf(config.folder).positions), name);
  const { current } = store;
  const states: Record<string, string> = {};
  const earlier = current === null ? null : { position: current.number, snapshot: null, at: current.at };
  return {
    range: { name, since: earlier, until: { position: store.number, at } },
    folders: [store.folder],
    changesOf: async (source, selected) => {
      const base = stateOf(store, selected.name);
      await checkReadable(source, selected, base, {
        folder: store.folder,
        hint: `Delete ${store.folder}. The next export of this name then writes all rows as inserts.`,
      });
      return selectChanges({ source, selected, table: tableOf(config, selected) }, base);
    },
    keep: async (source, selected, isChanged) => {
      if (!isChanged && current?.tables[selected.name] !== undefined) return;
      const file = store.stateFile(selected.name);
      await writeState({ source, selected, table: tableOf(config, selected) }, join(store.folder, file));
      states[selected.name] = file;
    },
    finish: (publish) => store.advance(at, states, publish),
  };
}

async function openSnapshotBase(
  config: WorkspaceConfig,
  since: Exclude<Since, { kind: 'last' }>,
  at: string,
): Promise<ExportBase> {
  // A mistyped year would otherwise select the newest snapshot, and report no changes.
  if (since.kind === 'time' && since.atMs > Date.parse(at))
    throw new SightlineError('usage', `--since is ${since.given}, which is in the future; allowed: a time up to ${at}`);
  const layout = layoutOf(config.folder);
  const snapshot = await findSnapshot(layout, since, () => readFirstRun(config));
  const folder = resolve(layout.snapshots, snapshot?.id ?? '');
  const earlier = snapshot === null ? null : { position: null, snapshot: snapshot.id, at: snapshot.createdAt };
  const baseOf = (name: string): Base => {
    const table = snapshot?.tables.find((one) => one.name === name);
    return table === undefined ? { kind: 'empty' } : { kind: 'snapshot', folder, table };
  };
  return {
    range: { name: null, since: earlier, until: { position: null, at } },
    folders: snapshot === null ? [] : [folder],
    changesOf: async (source, selected) => {
      const base = baseOf(selected.name);
      await checkReadable(source, selected, base, { folder, hint: 'Use another snapshot, or --since last.' });
      return selectChanges({ source, selected, table: tableOf(config, selected) }, base);
    },
    keep: async () => undefined,
    finish: (publish) => publish(),
  };
}

function stateOf({ folder, current }: PositionStore, table: string): Base {
  const file = current?.tables[table];
  return file === undefined ? { kind: 'empty' } : { kind: 'state', path: join(folder, file) };
}

// A file that is missing or ends early fails at its footer, so the rows need not be read.
async function checkReadable(
  source: CopySource,
  { name }: Selected,
  base: Base,
  { folder, hint }: { readonly folder: string; readonly hint: string },
): Promise<void> {
  for (const path of pathsOf(base)) {
    try {
      await source.query(`SELECT num_rows FROM parquet_file_metadata(${fileLiteral(path)})`);
    } catch (cause) {
      const message = `the earlier rows of ${name} in ${folder} are missing or damaged`;
      throw new SightlineError('config_invalid', message, { cause, hint });
    }
  }
}

function pathsOf(base: Base): string[] {
  if (base.kind === 'empty') return [];
  return base.kind === 'state' ? [base.path] : base.table.files.map(({ path }) => join(base.folder, path));
}

// Views have no keys by which their rows could be compared.
function tableOf(config: WorkspaceConfig, { name }: Selected) {
  const catalogue = catalogueOf(config);
  const table = [...catalogue.tables, ...catalogue.histories].find((one) => one.name === name);
  if (table !== undefined) return table;
  throw new SightlineError('usage', `--since cannot be combined with the view ${name}; allowed: tables of the data`);
}

// Null if the warehouse was restored, because it then has data from before its first run.
async function readFirstRun(config: WorkspaceConfig): Promise<number | null> {
  const { value } = await readNewestReplica(config, async (query) => {
    const [row] = await query('SELECT epoch_ms(min(started_at)) FROM sync.runs');
    return (await readOrigin(query)) === '' && row?.[0] != null ? Number(row[0]) : null;
  });
  return value;
}
