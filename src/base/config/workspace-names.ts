import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { chooseName, nearestName } from '../choose-name.ts';
import { SightlineError } from '../errors.ts';
import { type ConfigSources, type FileConfig, invalid, readConfigFile } from './config-file.ts';
import { nonEmpty } from './environment.ts';
import { describeIssue } from './setting-schema.ts';
import { workspaceName } from './shared-schemas.ts';

/** Name of the workspace that the environment variables configure. */
export const DEFAULT_WORKSPACE = 'default';

/** Name of the workspace that `sightline demo` creates. */
export const DEMO_WORKSPACE = 'demo';

/**
 * Returns the names of all configured workspaces. The configuration file names workspaces, and the environment variables configure `default`.
 * @throws `config_invalid` if the configuration file cannot be read
 */
export function listWorkspaces({ environment, folder, file }: Omit<ConfigSources, 'flags'>): string[] {
  const names = Object.keys((file ?? readConfigFile(folder)).workspaces ?? {});
  const isDescribed = nonEmpty(environment['SIGHTLINE_BASE_URL']) !== undefined;
  const others = names.filter((name) => name !== DEFAULT_WORKSPACE);
  return names.length === 0 || isDescribed || others.length < names.length ? [DEFAULT_WORKSPACE, ...others] : names;
}

/**
 * Returns the workspaces of the configuration file by name.
 * @throws `config_invalid` if the file cannot be read
 */
export function declaredWorkspaces(
  folder: string,
): Readonly<Record<string, { readonly baseUrl: string; readonly apiKeyVariable: string }>> {
  return readConfigFile(folder).workspaces ?? {};
}

/**
 * Checks the form of a workspace name from the command line, or from its variable.
 * @throws `config_invalid`
 */
export function checkWorkspaceName(name: string, isTyped = true): void {
  const [issue] = workspaceName.safeParse(name).error?.issues ?? [];
  if (issue === undefined) return;
  const source = isTyped ? '--workspace' : 'SIGHTLINE_WORKSPACE';
  throw new SightlineError('config_invalid', describeIssue(workspaceName, issue, name, source));
}

/**
 * Returns the name of the workspace that is used if no name is given.
 * @throws `config_invalid` if the file has several and the environment configures none
 */
export function standardWorkspace(environment: ConfigSources['environment'], { workspaces = {} }: FileConfig): string {
  const known = Object.keys(workspaces);
  if (known.length === 0 || nonEmpty(environment['SIGHTLINE_BASE_URL']) !== undefined) return DEFAULT_WORKSPACE;
  if (known.length === 1) return known[0] as string;
  throw invalid('--workspace', undefined, `one of ${known.join(', ')}`);
}

/**
 * Returns the name of a configured workspace or of one with a folder. A new name is rejected, because a mistyped one would start a complete
 * sync into a new folder. The beginning of a name selects a workspace only if `isTyped`: a variable is set once and used unattended.
 * @throws `usage` for an unknown workspace, `config_invalid` for a name of another form
 */
export function findWorkspace(
  wanted: string,
  { workspaces = {} }: FileConfig,
  workspacesFolder: string,
  isTyped: boolean,
): string {
  if (Object.hasOwn(workspaces, wanted) || wanted === DEFAULT_WORKSPACE) return wanted;
  checkWorkspaceName(wanted, isTyped);
  if (existsSync(join(workspacesFolder, wanted))) return wanted;
  const names = [DEFAULT_WORKSPACE, ...Object.keys(workspaces), ...foldersIn(workspacesFolder)];
  const creating = wanted === DEMO_WORKSPACE ? '`sightline demo`' : `\`sightline init --workspace ${wanted}\``;
  const known = [...new Set(names)];
  if (isTyped) return chooseName('workspace', wanted, known, `${creating} creates it.`);
  const near = nearestName(wanted, known);
  const meant = near === null ? '' : `; did you mean ${JSON.stringify(near)}?`;
  const message = `unknown workspace ${JSON.stringify(wanted)}; allowed: ${known.join(', ')}${meant}`;
  throw new SightlineError('usage', message, { hint: `${creating} creates it.` });
}

function foldersIn(workspacesFolder: string): string[] {
  try {
    const entries = readdirSync(workspacesFolder, { withFileTypes: true });
    return entries.flatMap((entry) =>
      entry.isDirectory() && workspaceName.safeParse(entry.name).success ? [entry.name] : [],
    );
  } catch {
    // The folder is created by the first sync.
    return [];
  }
}
