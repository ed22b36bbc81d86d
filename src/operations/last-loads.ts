import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { WorkspaceConfig } from '../base/config/config.ts';
import type { DESTINATION_KINDS } from '../base/config/destination-settings.ts';
import { replaceFile } from '../base/files.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { type DestinationState, lastLoad } from '../web/page-data/status-lines.ts';

const file = z.record(z.string(), lastLoad);

/** Result of a load: an error, or the number of rows (null if unchanged) and the version of the data. */
export type LoadEnd = { readonly error: string } | { readonly rows: number | null; readonly dataVersion: number };

/** Returns each destination with its last load. `dataVersion` is that of the workspace's data; null before the first sync. */
export async function readDestinations(
  { folder, destinations }: Pick<WorkspaceConfig, 'folder' | 'destinations'>,
  dataVersion: number | null,
): Promise<DestinationState[]> {
  const loads = await readLoads(layoutOf(folder).loads);
  return destinations.map((name) => {
    const last = loads[name] ?? null;
    const loaded = last?.dataVersion ?? null;
    const isUnknown = dataVersion === null || (loaded !== null && loaded > dataVersion);
    const next = isUnknown ? null : loaded === null ? 'everything' : loaded < dataVersion ? 'changes' : 'nothing';
    return { name, last, next };
  });
}

/** Records the result of a load. Concurrent loads may overwrite each other's record. */
export async function recordLoad(
  folder: string,
  name: string,
  { kind, at, end }: { readonly kind: (typeof DESTINATION_KINDS)[number]; readonly at: string; readonly end: LoadEnd },
): Promise<void> {
  const path = layoutOf(folder).loads;
  const loads = await readLoads(path);
  const { loadedAt = null, rows = null, dataVersion = null } = loads[name] ?? {};
  loads[name] =
    'error' in end
      ? { kind, at, error: end.error, loadedAt, rows, dataVersion }
      : { kind, at, error: null, loadedAt: at, rows: end.rows ?? rows, dataVersion: end.dataVersion };
  await replaceFile(path, `${JSON.stringify(loads)}\n`);
}

// The records are only shown, so an unreadable file is replaced.
async function readLoads(path: string): Promise<z.infer<typeof file>> {
  try {
    return file.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return {};
  }
}
