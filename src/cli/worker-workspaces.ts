import { plannedOf } from '../app/runner.ts';
import type { WorkspaceConfig } from '../base/config.ts';
import { toSightlineError } from '../base/errors.ts';
import type { Planned } from '../scheduler/runner.ts';
import { type Configured, readAllConfigs, type WorkspaceFlags } from './context.ts';

/** All configured workspaces, as the settings stood when they were last read. */
export interface WorkspaceList {
  /** How many there are. */
  readonly count: number;
  /** Those whose settings can be read. */
  configs(): readonly WorkspaceConfig[];
  find(workspace: string): Configured | undefined;
  /** What is to run by the clock. */
  planned(): readonly Planned[];
  /** Reads the settings again; those of before stay where they cannot be read. Does not throw. */
  read(): void;
}

/** Reads all configured workspaces. Tells of each whose settings are wrong, once. Throws `config_invalid` where none can be read. */
export function listWorkspaces(
  flags: Pick<WorkspaceFlags, 'dataDir'>,
  warn: (sentence: string) => void,
): WorkspaceList {
  let all = new Map<string, Configured>();
  const told = new Set<string>();
  const tellOnce = (sentence: string): void => {
    if (!told.has(sentence)) warn(sentence);
    told.add(sentence);
  };
  const readAll = (): void => {
    const read = readAllConfigs(flags);
    for (const one of read) if ('error' in one) tellOnce(`workspace ${one.name}: ${one.error.message}`);
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
        tellOnce(`The settings of before are gone on with: ${toSightlineError(thrown).message}`);
      }
    },
  };
}
