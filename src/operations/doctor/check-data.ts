import { existsSync, type Stats } from 'node:fs';
import { lstat, readdir, readlink, realpath, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { SightlineError } from '../../base/errors.ts';
import { agesOf } from '../../publish/snapshot/layout.ts';
import { isSnapshotId, readManifest } from '../../publish/snapshot/manifest.ts';
import { readBackupFile, readWhole } from '../../warehouse/file/copy-check.ts';
import { findFlaws } from '../../warehouse/file/integrity.ts';
import { openReader } from '../../warehouse/reader.ts';
import { catalogueOf } from '../../workspace/catalogues.ts';
import { renewReplica } from '../../workspace/workspace.ts';
import { findDamagedFiles } from '../backup/restore-snapshot.ts';
import { exportWorkspace } from '../export.ts';
import { type CheckContext, counted, type Finding } from './check-context.ts';

/** Damaged files that are listed one by one. */
const LISTED_MAX = 5;
const REBUILD = 'Run `sightline replay`, which rebuilds the tables from the stored pages, or `sightline restore`.';

/** Checks that the warehouse opens, has this schema version and contains no invalid rows. */
export async function checkWarehouseFile({ context, layout, owner }: CheckContext): Promise<Finding[]> {
  const { copy, live } = agesOf(layout);
  // The folder of a workspace with a home is as old as this machine's last work.
  if (isAway(context) && copy > 0) return checkRows(context, layout.analytics, 'the replica of the last save');
  if (live === 0 && copy === 0) {
    return [{ status: 'warning', message: 'no data yet', advice: 'Run `sightline sync`.' }];
  }
  if (live === 0) return [{ status: 'failure', message: `${layout.warehouse} is missing`, advice: REBUILD }];
  try {
    // Never lock the live file while another process owns the workspace.
    if (owner === null) return await checkRows(context, layout.warehouse, 'the warehouse');
  } catch (thrown) {
    if (!(thrown instanceof SightlineError) || thrown.code !== 'warehouse_locked') throw thrown;
  }
  if (copy === 0)
    return [{ status: 'ok', message: 'not checked: the warehouse is in use, and no replica is published yet' }];
  return checkRows(context, layout.analytics, `${owner ?? 'another process'} owns the warehouse; its replica`);
}

function isAway({ config }: CheckContext['context']): boolean {
  return config.home !== null;
}

async function checkRows({ config }: CheckContext['context'], path: string, what: string): Promise<Finding[]> {
  const catalogue = catalogueOf(config);
  const { tables } = await readBackupFile(path, catalogue);
  await readWhole(path);
  const reader = await openReader(path);
  try {
    const query = async (sql: string) => (await reader.query(sql)).rows.map((row) => [...row]);
    const flaws = await findFlaws(query, catalogue);
    if (flaws.length === 0) {
      const rows = tables.reduce((sum, table) => sum + table.rows, 0).toLocaleString('en-US');
      return [{ status: 'ok', message: `${what} is intact: ${tables.length} tables, ${rows} rows` }];
    }
    return flaws.map(({ table, kind, count }) => {
      return { status: 'failure', message: `${what}: ${table}: ${kind}, ${counted(count, 'time')}`, advice: REBUILD };
    });
  } finally {
    reader.close();
  }
}

/** Checks that the replica exists, opens and is current. `isDamaged` is whether the warehouse was found damaged. */
export async function checkReplica(check: CheckContext, isDamaged: boolean): Promise<Finding[]> {
  const { layout, owner, fix } = check;
  const { copy, live } = agesOf(layout);
  if (live === 0 && copy === 0) return [{ status: 'ok', message: 'nothing to publish yet' }];
  if (copy === 0 && owner !== null) {
    const advice = 'The replica is published when a sync or an export ends.';
    return [{ status: 'warning', message: `no replica is published yet; ${owner} owns the warehouse`, advice }];
  }
  const problem = await problemOfReplica(check);
  if (problem === null) return [{ status: 'ok', message: 'the replica opens and is current' }];
  if (owner !== null && problem.status === 'warning') {
    return [{ status: 'ok', message: `${problem.message}; ${owner} owns the warehouse` }];
  }
  // The replica may be the only intact file left.
  if (isDamaged) return [{ ...problem, advice: 'Repair the warehouse first; until then the replica is not replaced.' }];
  if (!fix || owner !== null || live === 0 || isAway(check.context)) return [problem];
  await renewReplica(check.context);
  return [{ status: 'ok', message: `${problem.message}; published again`, fixed: true }];
}

async function problemOfReplica({ context, layout }: CheckContext): Promise<Finding | null> {
  const { copy, live } = agesOf(layout);
  const advice = 'Run `sightline doctor --fix` or `sightline export`; the next sync also publishes it.';
  if (copy === 0) return { status: 'failure', message: `${layout.analytics} is missing`, advice };
  try {
    await readBackupFile(layout.analytics, catalogueOf(context.config));
    await readWhole(layout.analytics);
  } catch (thrown) {
    if (!(thrown instanceof SightlineError)) throw thrown;
    return { status: 'failure', message: thrown.message, advice };
  }
  return copy < live && !isAway(context)
    ? { status: 'warning', message: 'the replica is older than the warehouse', advice }
    : null;
}

/**
 * Checks that `latest` points to a snapshot whose files match the manifest. With `fix`, exports damaged files again, unless
 * `isDamaged`, which is whether the warehouse was found damaged.
 */
export async function checkSnapshots(check: CheckContext, isDamaged: boolean): Promise<Finding[]> {
  const { context, layout, owner, fix } = check;
  const { snapshots, latest } = layout;
  const names = existsSync(snapshots) ? (await readdir(snapshots)).filter(isSnapshotId) : [];
  const link = await lstat(latest).catch(() => null);
  if (link === null && names.length === 0) return [{ status: 'ok', message: 'no snapshots yet' }];
  const { damages, paths } = await examineLatest(layout, link);
  if (damages.length === 0) {
    const sound = `all ${paths.length} files of ${basename(await realpath(latest))} are intact`;
    return [{ status: 'ok', message: `${counted(names.length, 'snapshot')}; ${sound}` }];
  }
  const messages = [
    ...damages.slice(0, LISTED_MAX),
    ...(damages.length > LISTED_MAX ? [`${damages.length - LISTED_MAX} more files are damaged`] : []),
  ];
  if (!fix || isDamaged || owner !== null || isAway(context)) {
    const advice = isDamaged ? 'Repair the warehouse first.' : 'Run `sightline doctor --fix`, which exports it again.';
    return messages.map((message): Finding => ({ status: 'failure', message, advice }));
  }
  // An export writes missing files but could reuse a damaged one of the right size, so remove damaged files first.
  for (const path of paths) await rm(path, { force: true });
  await exportWorkspace(context, () => undefined);
  return messages.map((message) => ({ status: 'ok', message: `${message}; exported again`, fixed: true }));
}

// Returns a sentence per problem of the latest snapshot, and the paths of its damaged files, or of all files if none is damaged.
async function examineLatest(
  { latest }: CheckContext['layout'],
  link: Stats | null,
): Promise<{ damages: string[]; paths: string[] }> {
  if (link === null) return { damages: [`${latest} is missing`], paths: [] };
  if (!existsSync(latest)) {
    const target = link.isSymbolicLink() ? await readlink(latest) : 'nothing';
    return { damages: [`${latest} points to ${target}, which does not exist`], paths: [] };
  }
  const folder = await realpath(latest);
  const manifest = await readManifest(folder);
  if (manifest === null) return { damages: [`${folder} has no readable manifest`], paths: [] };
  const damages = await findDamagedFiles(folder, manifest);
  const all = manifest.tables.flatMap(({ files }) => files.map(({ path }) => path));
  // Only files that exist. A path outside the snapshot's folder counts as missing.
  const isBad = (path: string): boolean =>
    damages.some((text) => text.startsWith(`${path} `) && text !== `${path} is missing`);
  const paths = damages.length === 0 ? all : all.filter(isBad);
  return { damages, paths: paths.map((path) => join(folder, path)) };
}
