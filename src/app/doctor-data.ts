import { existsSync, type Stats } from 'node:fs';
import { lstat, readdir, readlink, realpath, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { exportWorkspace } from '../app.ts';
import { SightlineError } from '../base/errors.ts';
import { agesOf } from '../snapshot/layout.ts';
import { isSnapshotId, readManifest } from '../snapshot/manifest.ts';
import { readBackupFile, readWhole } from '../warehouse/backup.ts';
import { findFlaws } from '../warehouse/integrity.ts';
import { openReader } from '../warehouse/reader.ts';
import { SCHEMA_VERSION } from '../warehouse/schema.ts';
import { findDamagedFiles } from './backup-snapshot.ts';
import { counted, type Finding, type Patient } from './doctor-finding.ts';
import { catalogue, renewCopy } from './workspace.ts';

/** Damages that are told one by one. */
const TOLD_MAX = 5;
const REBUILD = 'Run `sightline replay`, which builds the tables anew from the kept pages, or `sightline restore`.';

/** Whether the warehouse opens, is of this version, and holds no rows that cannot be right. */
export async function checkWarehouseFile({ context, layout, owner }: Patient): Promise<Finding[]> {
  const { copy, live } = agesOf(layout);
  // What lies in the folder of a home elsewhere is of whenever this machine had it last.
  if (isAway(context) && copy > 0) return checkRows(layout.analytics, 'what was checked in last');
  if (live === 0 && copy === 0) {
    return [{ status: 'warning', message: 'there are no data yet', advice: 'Run `sightline sync`.' }];
  }
  if (live === 0) return [{ status: 'failure', message: `${layout.warehouse} is missing`, advice: REBUILD }];
  try {
    // Who owns the live file must not be kept from it, not even for a moment.
    if (owner === null) return await checkRows(layout.warehouse, 'the warehouse');
  } catch (thrown) {
    if (!(thrown instanceof SightlineError) || thrown.code !== 'warehouse_locked') throw thrown;
  }
  if (copy === 0) return [{ status: 'ok', message: 'in use; nothing is published yet that could be looked through' }];
  return checkRows(layout.analytics, `${owner ?? 'another process'} has the warehouse; its published copy`);
}

function isAway({ config }: Patient['context']): boolean {
  return config.home.kind !== 'local';
}

async function checkRows(path: string, what: string): Promise<Finding[]> {
  const { tables, schemaVersion } = await readBackupFile(path, catalogue);
  await readWhole(path);
  if (schemaVersion < SCHEMA_VERSION) {
    const advice = 'The next sync brings it up to date; only then can its rows be looked through.';
    return [{ status: 'warning', message: `${what} opens, and is from an older sightline`, advice }];
  }
  const reader = await openReader(path);
  try {
    const query = async (sql: string) => (await reader.query(sql)).rows.map((row) => [...row]);
    const flaws = await findFlaws(query, catalogue);
    if (flaws.length === 0) {
      const rows = tables.reduce((sum, table) => sum + table.rows, 0).toLocaleString('en-US');
      return [{ status: 'ok', message: `${what} is sound: ${tables.length} tables, ${rows} rows` }];
    }
    return flaws.map(({ table, kind, count }) => {
      return { status: 'failure', message: `${what}: ${table}: ${kind}, ${counted(count, 'time')}`, advice: REBUILD };
    });
  } finally {
    reader.close();
  }
}

/** Whether the analysts' copy is there, opens, and holds what the warehouse holds; `isSick` where that was found damaged. */
export async function checkCopy(patient: Patient, isSick: boolean): Promise<Finding[]> {
  const { layout, owner, fix } = patient;
  const { copy, live } = agesOf(layout);
  if (live === 0 && copy === 0) return [{ status: 'ok', message: 'nothing to publish yet' }];
  if (copy === 0 && owner !== null) {
    const advice = 'The copy is published when a sync or an export ends.';
    return [{ status: 'warning', message: `nothing is published yet, while ${owner} has the warehouse`, advice }];
  }
  const problem = await problemOfCopy(patient);
  if (problem === null) return [{ status: 'ok', message: 'the published copy opens and is current' }];
  if (owner !== null && problem.status === 'warning') {
    return [{ status: 'ok', message: `${problem.message}, while ${owner} has the warehouse` }];
  }
  // The copy may be the last that is sound.
  if (isSick) return [{ ...problem, advice: 'Mend the warehouse first; until then the copy is left as it is.' }];
  if (!fix || owner !== null || live === 0 || isAway(patient.context)) return [problem];
  await renewCopy(patient.context);
  return [{ status: 'ok', message: `${problem.message}; published anew`, fixed: true }];
}

async function problemOfCopy({ context, layout }: Patient): Promise<Finding | null> {
  const { copy, live } = agesOf(layout);
  const advice = 'Run `sightline doctor --fix`, or `sightline export`; the next sync publishes it too.';
  if (copy === 0) return { status: 'failure', message: `${layout.analytics} is missing`, advice };
  try {
    const { schemaVersion } = await readBackupFile(layout.analytics, catalogue);
    await readWhole(layout.analytics);
    const message = 'the published copy is from an older sightline';
    if (schemaVersion < SCHEMA_VERSION) return { status: 'failure', message, advice };
  } catch (thrown) {
    if (!(thrown instanceof SightlineError)) throw thrown;
    return { status: 'failure', message: thrown.message, advice };
  }
  return copy < live && !isAway(context)
    ? { status: 'warning', message: 'the published copy is older than the warehouse', advice }
    : null;
}

/**
 * Whether `latest` leads to a snapshot, and every file of that is what was written; what is damaged is exported anew unless
 * `isSick`, which is whether the warehouse was found damaged.
 */
export async function checkSnapshots(patient: Patient, isSick: boolean): Promise<Finding[]> {
  const { context, layout, owner, fix } = patient;
  const { snapshots, latest } = layout;
  const names = existsSync(snapshots) ? (await readdir(snapshots)).filter(isSnapshotId) : [];
  const link = await lstat(latest).catch(() => null);
  if (link === null && names.length === 0) return [{ status: 'ok', message: 'there are no snapshots yet' }];
  const { damages, paths } = await examineLatest(layout, link);
  if (damages.length === 0) {
    const sound = `every file of ${basename(await realpath(latest))} is sound, ${paths.length} in all`;
    return [{ status: 'ok', message: `${counted(names.length, 'snapshot')}; ${sound}` }];
  }
  const told = [
    ...damages.slice(0, TOLD_MAX),
    ...(damages.length > TOLD_MAX ? [`${damages.length - TOLD_MAX} more files are damaged`] : []),
  ];
  if (!fix || isSick || owner !== null || isAway(context)) {
    const advice = isSick ? 'Mend the warehouse first.' : 'Run `sightline doctor --fix`, which exports it anew.';
    return told.map((message): Finding => ({ status: 'failure', message, advice }));
  }
  // A file that is missing is written anew; one that looks the same from outside could be taken over.
  for (const path of paths) await rm(path, { force: true });
  await exportWorkspace(context, () => undefined);
  return told.map((message) => ({ status: 'ok', message: `${message}; exported anew`, fixed: true }));
}

// What is wrong with the latest snapshot, each in a sentence, and the paths of its files: of the damaged ones if any is.
async function examineLatest(
  { latest }: Patient['layout'],
  link: Stats | null,
): Promise<{ damages: string[]; paths: string[] }> {
  if (link === null) return { damages: [`${latest} is missing`], paths: [] };
  if (!existsSync(latest)) {
    const target = link.isSymbolicLink() ? await readlink(latest) : 'nothing';
    return { damages: [`${latest} leads to ${target}, which is not there`], paths: [] };
  }
  const folder = await realpath(latest);
  const manifest = await readManifest(folder);
  if (manifest === null) return { damages: [`${folder} has no manifest that can be read`], paths: [] };
  const damages = await findDamagedFiles(folder, manifest);
  const all = manifest.tables.flatMap(({ files }) => files.map(({ path }) => path));
  // Only what is there, which is within the folder.
  const isBad = (path: string): boolean =>
    damages.some((text) => text.startsWith(`${path} `) && text !== `${path} is missing`);
  const paths = damages.length === 0 ? all : all.filter(isBad);
  return { damages, paths: paths.map((path) => join(folder, path)) };
}
