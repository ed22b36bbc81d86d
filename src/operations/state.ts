import { existsSync } from 'node:fs';
import type { WorkspaceConfig } from '../base/config/config.ts';
import type { Catalogue } from '../contract/catalogue.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { readBrandList } from '../warehouse/brand-list.ts';
import type { Query } from '../warehouse/database.ts';
import { readProgressState, resetProgressState, type StateScope } from '../warehouse/ledger/progress-state.ts';
import { catalogueOf } from '../workspace/catalogues.ts';
import { noData } from '../workspace/newest-replica.ts';
import { withSession } from '../workspace/session.ts';
import { type Context, publish, withWarehouse } from '../workspace/workspace.ts';
import { chooseBrandIds } from './choose-brands.ts';
import { chooseResources } from './choose-resources.ts';
import { readNewestReplica } from './status.ts';

/** Reads a workspace's sync state, or part of it. `stale` means it is from the last replica. Throws `usage` for unknown names. */
export async function readState(config: WorkspaceConfig, wanted: StateScope) {
  return readNewestReplica(config, async (query) => {
    return readProgressState(query, await toScope(query, catalogueOf(config), wanted));
  });
}

/** Replaces the names of a scope by ids, so that a mistake is reported before a question. Throws `usage` and `no_data`. */
export async function resolveScope(config: WorkspaceConfig, wanted: StateScope): Promise<StateScope> {
  return (await readNewestReplica(config, (query) => toScope(query, catalogueOf(config), wanted))).value;
}

async function toScope(query: Query, catalogue: Catalogue, { resources, brands }: StateScope): Promise<StateScope> {
  return {
    resources: chooseResources(catalogue, resources),
    brands: chooseBrandIds(await readBrandList(query, catalogue, { deleted: true }), brands),
  };
}

/** Deletes the sync state of a workspace, or part of it. Returns the number of deleted slices. Throws `usage`. */
export function resetState(context: Context, wanted: StateScope): Promise<number> {
  return withSession(context, 'wait', async (inside) => {
    if (!existsSync(layoutOf(inside.config.folder).warehouse)) throw noData(inside.config);
    return withWarehouse(inside, {}, async ({ warehouse, layout, copy }) => {
      const { database, catalogue } = warehouse;
      const checked = await database.exclusive(({ query }) => toScope(query, catalogue, wanted));
      const slices = await resetProgressState(database, checked);
      copy.isCurrent = false;
      await publish(warehouse, layout, copy);
      return slices;
    });
  });
}
