import { z } from 'zod';
import { chooseName } from '../base/choose-name.ts';
import { DESTINATION_KINDS } from '../base/config/destination-settings.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { inSpan } from '../base/trace.ts';
import type { Catalogue } from '../contract/catalogue.ts';
import { errorParts, number, type ValueOf } from '../contract/operation/json-parts.ts';
import { type PublishedMarts, publishedMarts } from '../metrics/marts/published.ts';
import type { LoadTable } from '../publish/destinations/loaded-table.ts';
import { runLoad } from '../publish/destinations/run-child.ts';
import { catalogueTables, sourceOf } from '../publish/snapshot/exported-table.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { checkOpens } from '../warehouse/file/read-only.ts';
import { spillFolder } from '../warehouse/file/spill.ts';
import { catalogueOf } from '../workspace/catalogues.ts';
import { openReplicaWith } from '../workspace/newest-replica.ts';
import type { Context } from '../workspace/workspace.ts';
import { type LoadEnd, recordLoad } from './last-loads.ts';

/** Marts that every destination has, in one table for all workspaces. */
const SHARED = ['brand_freshness', 'share_of_voice', 'visibility_weekly'];

/** Result of a load into one destination. */
export const destinationLoad = z.object({
  name: z.string(),
  kind: z.enum(DESTINATION_KINDS),
  status: z
    .enum(['loaded', 'compared', 'unchanged', 'failed'])
    .describe(
      '`compared` by a dry run, which wrote nothing; `unchanged` if the destination already has this version of the data; `failed` if nothing was written',
    ),
  tables: z
    .array(
      z.object({
        name: z.string(),
        rows: number.describe('rows of the workspace after the load'),
        inserted: number,
        updated: number,
        deleted: number,
      }),
    )
    .describe('empty unless the status is `loaded` or `compared`'),
  elapsedMs: number,
  error: errorParts.optional(),
});

/** Result of a load into one destination. */
export type DestinationLoad = ValueOf<typeof destinationLoad>;

/** Options of `loadDestinations`. */
export interface LoadOptions {
  /** Names of destinations; null for all. */
  readonly names: readonly string[] | null;
  /** Writes every row again, even if a destination has later data. */
  readonly full: boolean;
  /** Compares, and writes nothing. */
  readonly dryRun: boolean;
}

/** Progress of a load: the number of tables that are compared and written. */
export interface LoadProgress {
  readonly destination: string;
  readonly done: number;
  readonly of: number;
}

/**
 * Makes the tables of destinations equal to those of the replica, one destination after the other. A failed load leaves the destination
 * as it was, and the next ones are loaded.
 *
 * @throws `usage` for an unknown name, `config_invalid` if no destination is set, `no_data` if nothing was synced
 */
export async function loadDestinations(
  context: Context,
  { names, ...options }: LoadOptions,
  onProgress: (progress: LoadProgress) => void,
): Promise<DestinationLoad[]> {
  const { config, clock, signal } = context;
  if (config.destinations.length === 0)
    throw new SightlineError(
      'config_invalid',
      'destinations is not set; allowed: an object with a member for each destination',
    );
  const chosen = names?.map((name) => chooseName('destination', name, config.destinations)) ?? config.destinations;
  const layout = layoutOf(config.folder);
  const tables = tablesOf(catalogueOf(config), config.marts);
  const results: DestinationLoad[] = [];
  // All settings are checked before anything is loaded.
  const targets = [...new Set(chosen)].map((name) => ({ name, target: config.destination(name) }));
  for (const { name, target } of targets) {
    const startedAt = performance.now();
    const loadInto = async (replica: string) => {
      await checkOpens(replica);
      const { extensions, name: workspace } = config;
      const temporary = spillFolder(replica);
      const request = { workspace, tables, replica, target, temporary, extensions, now: clock.now(), ...options };
      return runLoad(request, signal, (done) => onProgress({ destination: name, done, of: tables.length }));
    };
    const { kind } = target;
    // Records are only shown, so that a load does not fail if its record cannot be written.
    const record = async (ended: LoadEnd): Promise<void> => {
      if (options.dryRun) return;
      const at = new Date(clock.now()).toISOString();
      await recordLoad(config.folder, name, { kind, at, end: ended }).catch(() => undefined);
    };
    const end = (rest: Pick<DestinationLoad, 'status' | 'tables' | 'error'>): void => {
      results.push({ name, kind, ...rest, elapsedMs: Math.round(performance.now() - startedAt) });
    };
    try {
      const { tables: loaded, dataVersion } = await inSpan('load', {}, () => openReplicaWith(config, layout, loadInto));
      const rows = loaded?.reduce((sum, table) => sum + table.rows, 0) ?? null;
      await record({ rows, dataVersion });
      end({
        status: loaded === null ? 'unchanged' : options.dryRun ? 'compared' : 'loaded',
        tables: [...(loaded ?? [])],
      });
    } catch (thrown) {
      signal.throwIfAborted();
      const error = toSightlineError(thrown);
      if (error.code === 'no_data') throw error;
      const { code, message, hint } = error;
      await record({ error: message });
      end({ status: 'failed', tables: [], error: { code, message, hint } });
    }
  }
  return results;
}

/** Returns the tables of snapshots and those that all workspaces share, read from the replica. */
export function tablesOf(catalogue: Catalogue, marts: PublishedMarts): LoadTable[] {
  return [...catalogueTables(catalogue), ...publishedMarts(marts, SHARED)].map((table) => {
    const { name, about, key, time, kind, columns } = table;
    return {
      name,
      about,
      // The key of a mart identifies the rows of a day.
      key: kind === 'mart' && time !== undefined ? [...new Set([time, ...key])] : key,
      ...(kind === undefined ? {} : { kind }),
      columns: columns.map((column) => ({ name: column.name, kind: column.kind, about: column.about })),
      time,
      source: sourceOf(table),
      isShared: SHARED.includes(name),
    };
  });
}
