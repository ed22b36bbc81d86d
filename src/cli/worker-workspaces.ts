import type { WorkspaceConfig } from '../base/config/config.ts';
import { toSightlineError } from '../base/errors.ts';
import { plannedOf } from '../operations/cluster/open-runner.ts';
import type { WorkspaceList } from '../operations/jobs/run-worker.ts';
import { type Configured, readAllConfigs, type WorkspaceFlags } from './context.ts';

/** Reads all configured workspaces. Warns once about each invalid one. Throws `config_invalid` if the settings cannot be read. */
export function listWorkspaces(
  flags: Pick<WorkspaceFlags, 'dataDir'>,
  warn: (sentence: string) => void,
): WorkspaceList {
  let all = new Map<string, Configured>();
  const warned = new Set<string>();
  const warnOnce = (sentence: string): void => {
    if (!warned.has(sentence)) warn(sentence);
    warned.add(sentence);
  };
  const readAll = (): void => {
    const read = readAllConfigs(flags);
    for (const one of read) if ('error' in one) warnOnce(`workspace ${one.name}: ${one.error.message}`);
    all = new Map(read.map((one) => [one.name, one]));
  };
  readAll();
  const configs = (): WorkspaceConfig[] => [...all.values()].flatMap((one) => ('config' in one ? [one.config] : []));
  return {
    get count() {
      return all.size;
    },
    configs,
    find: (workspace) => all.get(workspace),
    planned: () => configs().flatMap(plannedOf),
    read: () => {
      try {
        readAll();
      } catch (thrown) {
        warnOnce(`Cannot read the settings, so the earlier ones stay in use: ${toSightlineError(thrown).message}`);
      }
    },
  };
}
