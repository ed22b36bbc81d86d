import type { WorkspaceConfig } from '../../base/config/config.ts';
import { toSightlineError } from '../../base/errors.ts';
import type { HomeState } from '../../publish/destinations/home-protocol.ts';
import { atHome } from '../../workspace/home-folder.ts';

/** Reads the states of all workspaces with a home, leased ones first. Reports unreadable homes to `warn`. */
export async function readClusterHomes(
  configs: readonly WorkspaceConfig[],
  signal: AbortSignal,
  warn: (sentence: string) => void,
): Promise<HomeState[]> {
  const found: HomeState[] = [];
  // Workspaces share most homes, and a home has the states of all.
  const homes = new Map<string, { readonly first: WorkspaceConfig; readonly names: Set<string> }>();
  for (const config of configs) {
    if (config.home === null) continue;
    const target = JSON.stringify(config.destination(config.home));
    const known = homes.get(target) ?? { first: config, names: new Set() };
    known.names.add(config.name);
    homes.set(target, known);
  }
  for (const { first, names } of homes.values()) {
    try {
      const states = await atHome(first, { do: 'state' }, signal);
      found.push(...states.filter(({ workspace }) => names.has(workspace)));
    } catch (thrown) {
      warn(toSightlineError(thrown).message);
    }
  }
  return [...found.filter(({ lease }) => lease !== null), ...found.filter(({ lease }) => lease === null)];
}
