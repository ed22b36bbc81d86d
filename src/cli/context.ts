import { jobsOf } from '../app/jobs.ts';
import type { Context } from '../app/workspace.ts';
import { systemClock } from '../base/clock.ts';
import {
  type ConfigSources,
  listWorkspaces,
  loadConfig,
  readEnvironment,
  type WorkspaceConfig,
} from '../base/config.ts';
import { readConfigFile } from '../base/config-file.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { toDay } from '../contract/time.ts';
import { toOverrides } from '../metrics/overrides.ts';
import { say } from './output.ts';
import { terminal } from './terminal.ts';

/** Flags that every command on a workspace takes. */
export interface WorkspaceFlags {
  readonly workspace?: string;
  readonly dataDir?: string;
  readonly baseUrl?: string;
  readonly json?: boolean;
}

/** The folder in which the command was given, and its environment. */
export function readSurroundings() {
  const { folder, environment } = terminal();
  return { folder, environment: environment ?? readEnvironment(folder) };
}

/** Settings of the workspace that the flags, the environment and the configuration file describe. */
export function readConfig(flags: WorkspaceFlags) {
  return checkedConfig(flags, readSurroundings());
}

function checkedConfig(flags: WorkspaceFlags, surroundings: Omit<ConfigSources, 'flags'>): WorkspaceConfig {
  const config = loadConfig({ flags, ...surroundings });
  // Whichever command it is: who wrote it wants to know now.
  toOverrides(config.conventions);
  jobsOf(config);
  return config;
}

/** A configured workspace with its settings, or the error that reading them ended with. */
export type Configured =
  | { readonly name: string; readonly config: WorkspaceConfig }
  | { readonly name: string; readonly error: SightlineError };

/**
 * Settings of all configured workspaces; what is wrong with one does not keep the others from being read. Throws `usage`
 * for flags that speak of one workspace only.
 */
export function readAllConfigs(flags: WorkspaceFlags): Configured[] {
  if (flags.workspace !== undefined) throw new SightlineError('usage', '--all and --workspace exclude each other');
  if (flags.baseUrl !== undefined) throw new SightlineError('usage', '--all and --base-url exclude each other');
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

/** What a command on the workspace that its flags name passes on. */
export function commandContext(command: string, flags: WorkspaceFlags, signal: AbortSignal): Context {
  return contextOf(command, readConfig(flags), signal);
}

/** What a command passes on; where it has to wait for a workspace it says for whom. */
export function contextOf(command: string, config: WorkspaceConfig, signal: AbortSignal): Context {
  const onWait = (current: string): void => say(`Waiting for ${current}, which has the warehouse.`);
  return { config, clock: systemClock, signal, command, onWait, onTrouble: say };
}

/** A whole number within bounds from a flag's text; throws `usage` with the bounds. */
export function toInteger(flag: string, text: string, least: number, most: number): number {
  const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SightlineError(
    'usage',
    `${flag} is ${JSON.stringify(text)}; allowed: a whole number from ${least} to ${most}`,
  );
}

/** A day from a flag's text; throws `usage`. */
export function toDayFlag(flag: string, text: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && toDay(text) !== null) return text;
  throw new SightlineError('usage', `${flag} is ${JSON.stringify(text)}; allowed: a day that exists, as YYYY-MM-DD`);
}
