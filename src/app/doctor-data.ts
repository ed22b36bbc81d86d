import { existsSync } from 'node:fs';
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { SightlineError } from '../base/errors.ts';
import { agesOf } from '../snapshot/layout.ts';
import { isSnapshotId } from '../snapshot/manifest.ts';
import { readBackupFile, readWhole } from '../warehouse/backup.ts';
import { findFlaws } from '../warehouse/integrity.ts';
import { openReader } from '../warehouse/reader.ts';
import { SCHEMA_VERSION } from '../warehouse/schema.ts';
import { findDamagedFiles, readSnapshot } from './backup-snapshot.ts';
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

/** Whether `latest` leads to a snapshot, and every file of that is what was written. */
export async function checkSnapshots({ layout }: Patient): Promise<Finding[]> {
  const names = existsSync(layout.snapshots) ? (await readdir(layout.snapshots)).filter(isSnapshotId) : [];
  const link = await lstat(layout.latest).catch(() => null);
  if (link === null && names.length === 0) return [{ status: 'ok', message: 'there are no snapshots yet' }];
  const advice = 'Run `sightline export`.';
  if (link === null) return [{ status: 'failure', message: `${layout.latest} is missing`, advice }];
  if (!existsSync(layout.latest)) {
    const target = link.isSymbolicLink() ? await readlink(layout.latest) : 'nothing';
    return [{ status: 'failure', message: `${layout.latest} leads to ${target}, which is not there`, advice }];
  }
  const folder = await realpath(layout.latest);
  const manifest = await readSnapshot(folder);
  const damages = await findDamagedFiles(folder, manifest);
  const files = manifest.tables.reduce((sum, table) => sum + table.files.length, 0);
  if (damages.length === 0) {
    return [
      {
        status: 'ok',
        message: `${counted(names.length, 'snapshot')}; every file of ${basename(folder)} is sound, ${files} in all`,
      },
    ];
  }
  // A file that is missing is written anew; one that looks the same from outside could be taken over.
  const remedy = `Delete the damaged files in ${folder}, then run \`sightline export\`, which writes them anew.`;
  const told = damages.slice(0, TOLD_MAX).map((message): Finding => ({ status: 'failure', message, advice: remedy }));
  const more = `${damages.length - TOLD_MAX} more files are damaged`;
  return damages.length > TOLD_MAX ? [...told, { status: 'failure', message: more, advice: remedy }] : told;
}
