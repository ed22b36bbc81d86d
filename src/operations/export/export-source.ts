import type { Catalogue } from '../../contract/catalogue.ts';
import { layoutOf } from '../../publish/snapshot/layout.ts';
import type { Query } from '../../warehouse/database.ts';
import { type CopySource, openCopySource } from '../../warehouse/file/copy-out.ts';
import { readUnfinishedWindows } from '../../warehouse/ledger/unfinished-windows.ts';
import { quoted } from '../../warehouse/schema.ts';
import { catalogueOf } from '../../workspace/catalogues.ts';
import { openNewestReplicaWith, openReplicaWith } from '../../workspace/newest-replica.ts';
import { type Context, renewReplica } from '../../workspace/workspace.ts';

/**
 * Opens the newest data for an export into `folder`; queries may read files in `others` too. A sync that was killed before it published
 * a replica may have stored only some pages of a day. Publishing leaves that day out.
 */
export async function openSource(
  context: Context,
  folder: string,
  others: readonly string[],
): Promise<{ opened: CopySource; stale: boolean }> {
  const { config } = context;
  const layout = layoutOf(config.folder);
  const open = (path: string): Promise<CopySource> => openCopySource(path, folder, others);
  const newest = await openNewestReplicaWith(config, layout, open);
  try {
    if (!(await hasUnfinishedDays(queryOf(newest.opened), catalogueOf(config)))) return newest;
  } catch (thrown) {
    newest.opened.close();
    throw thrown;
  }
  newest.opened.close();
  await renewReplica(context);
  return { opened: await openReplicaWith(config, layout, open), stale: false };
}

/** Returns the queries of a source. */
export function queryOf(source: CopySource): Query {
  return async (sql) => (await source.query(sql)).map((row) => [...row]);
}

// A replica lists unfinished windows too, but does not contain their rows.
async function hasUnfinishedDays(query: Query, catalogue: Catalogue): Promise<boolean> {
  const { hidden } = await readUnfinishedWindows(query, catalogue);
  if (hidden.length === 0) return false;
  const rows = hidden.map(({ table, where }) => `EXISTS (FROM main.${quoted(table)} WHERE ${where})`);
  const [row] = await query(`SELECT ${rows.join(' OR ')}`);
  return row?.[0] === true;
}
