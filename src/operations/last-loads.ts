import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { DESTINATION_KINDS } from '../base/config/destination-settings.ts';
import { replaceFile } from '../base/files.ts';
import { number, time, type ValueOf } from '../contract/operation/json-parts.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';

const lastLoad = z.object({
  kind: z.enum(DESTINATION_KINDS),
  at: time.describe('end of the last load'),
  error: z.string().nullable().describe('why the last load failed; null if it did not'),
  loadedAt: time.nullable().describe('end of the last load that did not fail'),
  rows: number.nullable().describe('rows of the workspace after that load'),
  dataVersion: number.nullable().describe('version of the data that the destination has since'),
});
const file = z.record(z.string(), lastLoad);

/** A destination and its last load. */
export const destinationState = z.object({
  name: z.string(),
  last: lastLoad.nullable().describe('null if nothing was loaded from this folder or its home'),
  next: z
    .enum(['everything', 'changes', 'nothing'])
    .nullable()
    .describe('what the next load writes, by the version of the data; null if that is unknown'),
});

/** A destination and its last load. */
export type DestinationState = ValueOf<typeof destinationState>;

/** How a load ended: an error, or the rows (null if they were equal already) and the version of the data. */
type LoadEnd = { readonly error: string } | { readonly rows: number | null; readonly dataVersion: number };

/** Reads the last loads into the destinations of a workspace, whose data have a version; null before the first sync. */
export async function readDestinations(
  { folder, destinations }: Pick<WorkspaceConfig, 'folder' | 'destinations'>,
  dataVersion: number | null,
): Promise<DestinationState[]> {
  const loads = await readLoads(layoutOf(folder).loads);
  return destinations.map((name) => {
    const last = loads[name] ?? null;
    const loaded = last?.dataVersion ?? null;
    const next =
      dataVersion === null ? null : loaded === null ? 'everything' : loaded < dataVersion ? 'changes' : 'nothing';
    return { name, last, next };
  });
}

/** Records how a load ended. */
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
