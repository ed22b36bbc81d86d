import { readConfigFile } from '../base/config/config-file.ts';
import { loadConfig, type WorkspaceConfig } from '../base/config/config.ts';
import { listWorkspaces } from '../base/config/workspace-names.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { checked } from '../operations/check-settings.ts';
import type { Configured } from '../operations/cluster/workspace-list.ts';
import type { Context } from '../workspace/workspace.ts';
import { contextOf, readSurroundings, type WorkspaceFlags } from './context.ts';

/** Loads the workspace's settings from flags, environment and configuration file. Throws `config_invalid` and `usage`. */
export function readConfig(flags: WorkspaceFlags): WorkspaceConfig {
  return checked(loadConfig({ flags, ...readSurroundings() }));
}

/**
 * Loads the settings of all configured workspaces. An invalid workspace is returned with its error.
 *
 * @throws `usage` for flags that apply to a single workspace.
 */
export function readAllConfigs(flags: WorkspaceFlags): Configured[] {
  if (flags.workspace !== undefined) throw new SightlineError('usage', '--all cannot be combined with --workspace');
  if (flags.baseUrl !== undefined) throw new SightlineError('usage', '--all cannot be combined with --base-url');
  const { folder, environment } = readSurroundings();
  const surroundings = { folder, environment, file: readConfigFile(folder) };
  return listWorkspaces(surroundings).map((name) => {
    try {
      return { name, config: checked(loadConfig({ flags: { ...flags, workspace: name }, ...surroundings })) };
    } catch (thrown) {
      return { name, error: toSightlineError(thrown) };
    }
  });
}

/** The context of a command on the workspace that its flags select. */
export function commandContext(command: string, flags: WorkspaceFlags, signal: AbortSignal): Context {
  return contextOf(command, readConfig(flags), signal);
}
