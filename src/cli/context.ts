import { dataFolderOf, dataUmask, loadConfig, type WorkspaceConfig } from '../base/config/config.ts';
import { readEnvironment } from '../base/config/environment.ts';
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
  if (umask !== null) process.umask(dataUmask(surroundings));
  return surroundings;
}

/**
 * Loads the workspace's settings from flags, environment and configuration file. The modules that validate jobs and conventions are loaded
 * only if the settings have any, because they take a third of the CPU time of a short command. Throws `config_invalid` and `usage`.
 */
export async function loadSettings(flags: WorkspaceFlags): Promise<WorkspaceConfig> {
  const config = loadConfig({ flags, ...readSurroundings() });
  const isChanged = [config.jobs, config.conventions].some((setting) => Object.keys(setting).length > 0);
  if (isChanged) (await import('../operations/check-settings.ts')).checked(config);
  return config;
}

/** The absolute path of the data folder, which has a folder per workspace. Throws `config_invalid`. */
export function readDataFolder({ dataDir }: WorkspaceFlags): string {
  return dataFolderOf({ flags: dataDir === undefined ? {} : { dataDir }, ...readSurroundings() });
}

/** Loads the settings of the workspace that the flags select for an operation on it. Throws `config_invalid` and `usage`. */
export async function loadContext(command: string, flags: WorkspaceFlags, signal: AbortSignal): Promise<Context> {
  return contextOf(command, await loadSettings(flags), signal);
}

/** The context of a command. Prints a message when the command has to wait for the warehouse. */
export function contextOf(command: string, config: WorkspaceConfig, signal: AbortSignal): Context {
  const onWait = (holder: string, ahead: number): void => {
    const others = ahead === 0 ? '' : `; ${plural(ahead, 'command')} ${ahead === 1 ? 'waits' : 'wait'} before this one`;
    say(`Waiting for ${holder}, which is using the warehouse${others}.`);
  };
  return { config, clock: terminal().clock, signal, command, onWait, onTrouble: say };
}
