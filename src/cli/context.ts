import type { ConfigSources } from '../base/config/config-file.ts';
import { readConfigFile } from '../base/config/config-file.ts';
import { dataFolderOf, dataUmask, loadConfig, type WorkspaceConfig } from '../base/config/config.ts';
import { readEnvironment } from '../base/config/environment.ts';
import { listWorkspaces } from '../base/config/workspace-names.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { toOverrides } from '../metrics/calibration/overrides.ts';
import type { Configured } from '../operations/cluster/workspace-list.ts';
import { jobsOf } from '../operations/jobs/job-list.ts';
import type { Context } from '../workspace/workspace.ts';
import { plural, say } from './output/output.ts';
import { terminal } from './output/terminal.ts';

/** Flags that every command on a workspace accepts. */
export interface WorkspaceFlags {
  readonly workspace?: string;
  readonly dataDir?: string;
  readonly baseUrl?: string;
  readonly home?: string;
  readonly json?: boolean;
}

/** The user's current directory and environment. Sets the umask of the process to that of the data folder. */
export function readSurroundings() {
  const { folder, variables, umask } = terminal();
  const surroundings = { folder, environment: readEnvironment(folder, variables) };
  if (umask !== null) process.umask(umaskOf(surroundings));
  return surroundings;
}

// The command itself reports settings that cannot be read.
function umaskOf(surroundings: Omit<ConfigSources, 'flags'>): number {
  try {
    return dataUmask(surroundings);
  } catch {
    return 0o077;
  }
}

/** Loads the workspace's settings from flags, environment and configuration file. Throws `config_invalid` and `usage`. */
export function readConfig(flags: WorkspaceFlags) {
  return checkedConfig(flags, readSurroundings());
}

function checkedConfig(flags: WorkspaceFlags, surroundings: Omit<ConfigSources, 'flags'>): WorkspaceConfig {
  const config = loadConfig({ flags, ...surroundings });
  // Validate these settings for every command, so that a mistake is reported at once.
  toOverrides(config.conventions);
  jobsOf(config);
  return config;
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
      return { name, config: checkedConfig({ ...flags, workspace: name }, surroundings) };
    } catch (thrown) {
      return { name, error: toSightlineError(thrown) };
    }
  });
}

/** The absolute path of the data folder, which has a folder per workspace. Throws `config_invalid`. */
export function readDataFolder({ dataDir }: WorkspaceFlags): string {
  return dataFolderOf({ flags: dataDir === undefined ? {} : { dataDir }, ...readSurroundings() });
}

/** The context of a command on the workspace that its flags select. */
export function commandContext(command: string, flags: WorkspaceFlags, signal: AbortSignal): Context {
  return contextOf(command, readConfig(flags), signal);
}

/** The context of a command. Prints a message when the command has to wait for the warehouse. */
export function contextOf(command: string, config: WorkspaceConfig, signal: AbortSignal): Context {
  const onWait = (holder: string, ahead: number): void => {
    const others = ahead === 0 ? '' : `; ${plural(ahead, 'command')} ${ahead === 1 ? 'waits' : 'wait'} before this one`;
    say(`Waiting for ${holder}, which is using the warehouse${others}.`);
  };
  return { config, clock: terminal().clock, signal, command, onWait, onTrouble: say };
}
