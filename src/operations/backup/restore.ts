import { existsSync, statSync } from 'node:fs';
import { realpath, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { withDiskNeed } from '../../base/disk-need.ts';
import { SightlineError } from '../../base/errors.ts';
import { ensureWritableFolder, publishByRename, syncToDisk } from '../../base/files.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import { time, type ValueOf } from '../../contract/operation/json-parts.ts';
import { type Layout, layoutOf } from '../../publish/snapshot/layout.ts';
import type { Manifest } from '../../publish/snapshot/manifest.ts';
import { DamagedFile } from '../../warehouse/errors.ts';
import { type BackupFile, checkCopy, copyClosed, readBackupFile } from '../../warehouse/file/copy-check.ts';
import { databaseBytes } from '../../warehouse/file/copy-database.ts';
import { catalogueOf } from '../../workspace/catalogues.ts';
import { readHome, removeMark } from '../../workspace/home-folder.ts';
import { withSession } from '../../workspace/session.ts';
import type { Context } from '../../workspace/workspace.ts';
import { inWarehouse, keepOld, publishReplaced, type Replaceable, replaceWarehouse } from './replacement.ts';
import { fillFromSnapshot, type RestoredSnapshot, restoredSnapshot, readSnapshot } from './restore-snapshot.ts';

const NOTHING_MISSING = { missing: [], unknown: [] } as const;

/** A validated source for a restore. `asOf` is ISO 8601; null if the file does not record it. */
export type RestoreSource = { readonly path: string; readonly asOf: string | null } & (
  | { readonly kind: 'backup'; readonly file: BackupFile }
  | { readonly kind: 'snapshot'; readonly manifest: Manifest }
);

/** A restored warehouse. */
export const restored = restoredSnapshot.extend({
  source: z.string(),
  kind: z.enum(['backup', 'snapshot']),
  asOf: time.nullable().describe('null if the file does not record it'),
  path: z.string(),
  kept: z.string().nullable().describe('path of the replaced warehouse'),
  continues: z.boolean().describe('whether the next sync resumes; false for a snapshot, which has no sync state'),
});

/** A restored warehouse. */
export type Restored = ValueOf<typeof restored>;

/**
 * Validates the source of a restore and checks that the workspace may be restored. `given` is a path of the user.
 *
 * @throws `usage` if the source does not exist or the workspace has data and `force` is false, `warehouse_locked` while it is
 * served, `warehouse_invalid` and `warehouse_newer`.
 */
export async function readRestoreSource(
  { config, signal }: Context,
  given: string,
  force: boolean,
): Promise<{ source: RestoreSource; hasData: boolean }> {
  const layout = layoutOf(config.folder);
  const found = statSync(given, { throwIfNoEntry: false });
  if (found === undefined) {
    throw new SightlineError(
      'usage',
      `${given} does not exist; allowed: a file written by \`backup\`, or a snapshot folder`,
    );
  }
  const path = await realpath(resolve(given));
  if (path === (await realpath(layout.warehouse).catch(() => null))) {
    throw new SightlineError('usage', `${given} is the workspace's own warehouse; allowed: another file`);
  }
  const source: RestoreSource = found.isDirectory()
    ? await ofSnapshot(path)
    : await ofBackup(path, catalogueOf(config));
  const isOwnCopy = path === (await realpath(layout.analytics).catch(() => null));
  const isAway = config.home !== null;
  const isHere = existsSync(layout.warehouse) || (existsSync(layout.analytics) && !isOwnCopy);
  const hasData = isAway ? (await readHome(config, signal))?.savedAt != null : isHere;
  if (hasData && !force) {
    const found = `workspace ${config.name} has data in ${isAway ? `destination ${config.home}` : config.folder}`;
    throw new SightlineError('usage', `${found}; --force replaces it and keeps the old files`);
  }
  return { source, hasData };
}

async function ofSnapshot(path: string): Promise<RestoreSource> {
  const manifest = await readSnapshot(path);
  return { kind: 'snapshot', path, manifest, asOf: manifest.createdAt };
}

async function ofBackup(path: string, catalogue: Catalogue): Promise<RestoreSource> {
  const file = await readBackupFile(path, catalogue).catch((thrown: unknown) => refuseSource(path, thrown));
  return { kind: 'backup', path, file, asOf: file.asOf };
}

// Replaces the repair advice, which `withRemedy` would otherwise add for any file called `warehouse.duckdb`.
function refuseSource(path: string, thrown: unknown): never {
  if (!(thrown instanceof DamagedFile) || thrown.path !== path) throw thrown;
  const message = `${thrown.message}; restore from another backup or from a snapshot`;
  throw new SightlineError('warehouse_invalid', message, { cause: thrown });
}

/**
 * Builds the workspace's warehouse from a backup or a snapshot, checks it, puts it in place by rename, and publishes the replica.
 * Keeps the old file. An error before the rename changes nothing.
 */
export function restoreWorkspace(context: Context, source: RestoreSource): Promise<Restored> {
  const { folder } = context.config;
  const bytes =
    source.kind === 'backup'
      ? databaseBytes(source.path)
      : source.manifest.tables.reduce((sum, table) => sum + table.bytes, 0);
  // The restored warehouse, and its replica.
  const need = { folder, bytes: 2 * bytes, by: `the restore of ${source.path}` };
  return withDiskNeed(need, async () => {
    await ensureWritableFolder(folder);
    return withSession(context, 'wait', (inside) => restore(inside, source));
  });
}

async function restore(context: Context, source: RestoreSource): Promise<Restored> {
  const { config } = context;
  const layout = layoutOf(config.folder);
  const aside = join(config.folder, '.restore.duckdb');
  // `home_conflict`: the workspace had a home, so the folder is a copy. Replace it; the folder then keeps the data itself.
  const despite = ['warehouse_invalid', 'warehouse_newer', 'home_conflict'] as const;
  const { built, kept } = await replaceWarehouse(context, { aside, despite }, (replaceable) =>
    settle(context, source, layout, aside, replaceable),
  );
  // A snapshot does not contain the calibration.
  await publishReplaced(context, 'import');
  const { kind, path, asOf } = source;
  return { source: path, kind, asOf, path: layout.warehouse, kept, continues: kind === 'backup', ...built };
}

interface Replaced {
  readonly built: RestoredSnapshot;
  readonly kept: string | null;
}

async function settle(
  context: Context,
  source: RestoreSource,
  layout: Layout,
  aside: string,
  { old, stamp, refuseIfTaken }: Replaceable,
): Promise<Replaced> {
  const built = await build(context, source, aside);
  context.signal.throwIfAborted();
  await syncToDisk(aside);
  refuseIfTaken();
  const kept = await keepData(context.config.folder, layout, source, { old, stamp });
  await publishByRename(aside, layout.warehouse);
  if (context.config.home === null) await removeMark(context.config.folder);
  return { built, kept };
}

async function keepData(
  folder: string,
  { warehouse, analytics }: Layout,
  source: RestoreSource,
  { old, stamp }: Pick<Replaceable, 'old' | 'stamp'>,
): Promise<string | null> {
  if (existsSync(warehouse)) {
    const kept = join(folder, `warehouse.${stamp}.duckdb`);
    await keepOld(warehouse, kept, old);
    return kept;
  }
  // If the warehouse file was lost, the replica is the only data left, and publishing would replace it.
  await rm(`${warehouse}.wal`, { force: true });
  if (!existsSync(analytics) || source.path === (await realpath(analytics))) return null;
  const kept = join(folder, `analytics.${stamp}.duckdb`);
  await rename(analytics, kept);
  return kept;
}

async function build(context: Context, source: RestoreSource, aside: string): Promise<RestoredSnapshot> {
  const { temporary } = layoutOf(context.config.folder);
  const catalogue = catalogueOf(context.config);
  if (source.kind === 'backup') return copyBackup(source.path, aside, temporary, catalogue);
  return inWarehouse(aside, catalogue, (warehouse) =>
    fillFromSnapshot(warehouse, source.path, source.manifest, context.signal),
  );
}

async function copyBackup(
  from: string,
  aside: string,
  temporaryFolder: string,
  catalogue: Catalogue,
): Promise<RestoredSnapshot> {
  const options = { temporaryFolder, forReaders: false };
  const tables = await copyClosed(from, aside, options).catch((thrown: unknown) => refuseSource(from, thrown));
  await checkCopy(aside, tables);
  // Opening the file adds new tables and columns before it is put in place.
  await inWarehouse(aside, catalogue, () => Promise.resolve());
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return { tables: tables.length, rows, ...NOTHING_MISSING };
}
