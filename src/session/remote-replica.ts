import { readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '../base/json.ts';
import type { GenericForm } from '../contract/generic/generic-form.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { readForms } from '../warehouse/generic/stored-forms.ts';
import { openReader } from '../warehouse/reader.ts';
import { thisProcess } from './process-driver.ts';
import { openRemote, type RemoteWorkspace } from './remote-stores.ts';
import { storeForms } from './stored-forms-file.ts';

/**
 * Downloads the replica of a remote warehouse if a newer version was checked in. Returns whether the replica changed. Does
 * nothing if the warehouse is local or this process has a session in it. With `isDamaged` it downloads even the same version.
 *
 * @throws `remote_failed`
 */
export async function refreshReplica(
  workspace: RemoteWorkspace,
  { isDamaged = false }: { isDamaged?: boolean } = {},
): Promise<boolean> {
  const { remote, folder } = workspace.config;
  if (remote.kind === 'local' || thisProcess.isInUse(folder)) return false;
  const { analytics, endpoints } = layoutOf(folder);
  const isThere = !isDamaged && (await stat(analytics).catch(() => null)) !== null;
  const opened = await openRemote(workspace);
  try {
    const fetched = await opened.fetchCopy(analytics, isThere ? await readVersion(folder) : null);
    if (fetched?.isNew !== true) return false;
    const savedAt = new Date(fetched.savedAt);
    await utimes(analytics, savedAt, savedAt);
    await storeForms(endpoints, await readFormsOf(analytics));
    await noteVersion(folder, fetched.version);
    return true;
  } finally {
    opened.close();
  }
}

// A damaged replica has no forms; its readers find the damage.
async function readFormsOf(path: string): Promise<readonly GenericForm[]> {
  try {
    const reader = await openReader(path);
    try {
      return await readForms(async (sql) => (await reader.query(sql)).rows.map((row) => [...row]));
    } finally {
      reader.close();
    }
  } catch {
    return [];
  }
}

/** Records which version of the remote warehouse the replica is. */
export function noteVersion(folder: string, version: string): Promise<void> {
  return writeFile(versionPath(folder), `${JSON.stringify({ version })}\n`);
}

async function readVersion(folder: string): Promise<string | null> {
  try {
    const noted: unknown = JSON.parse(await readFile(versionPath(folder), 'utf8'));
    return isRecord(noted) && typeof noted['version'] === 'string' ? noted['version'] : null;
  } catch {
    return null;
  }
}

function versionPath(folder: string): string {
  return join(folder, 'copy.json');
}
