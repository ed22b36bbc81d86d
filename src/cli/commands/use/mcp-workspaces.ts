import { existsSync, readdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONFIG_FILE } from '../../../base/config/config-file.ts';
import type { WorkspaceConfig } from '../../../base/config/config.ts';
import { DEFAULT_WORKSPACE, declaredWorkspaces } from '../../../base/config/workspace-names.ts';
import { SightlineError, toSightlineError } from '../../../base/errors.ts';
import { layoutOf } from '../../../publish/snapshot/layout.ts';
import { readConfig } from '../../checked-config.ts';
import { readSurroundings, type WorkspaceFlags } from '../../context.ts';
import { printData, say } from '../../output/output.ts';
import { QUERY_TIMEOUT_MS } from '../../program/common-options.ts';
import { type McpClient, mcpClients } from './mcp-config.ts';

/** The program of this process, which a client starts. */
const MAIN = fileURLToPath(new URL('../../main.js', import.meta.url));

/** Prints the settings with which a client starts the server. */
export function printSettings(
  client: McpClient,
  all: boolean,
  configs: readonly WorkspaceConfig[],
  queryTimeoutMs: number,
): void {
  const [first] = configs as readonly [WorkspaceConfig, ...WorkspaceConfig[]];
  const { folder } = readSurroundings();
  const chosen = all ? ['--all'] : ['--workspace', first.name];
  const settings = existsSync(resolve(folder, CONFIG_FILE)) ? ['--folder', folder] : [];
  const timeout = queryTimeoutMs === QUERY_TIMEOUT_MS ? [] : ['--query-timeout', String(queryTimeoutMs / 1_000)];
  const args = [MAIN, 'mcp', ...chosen, '--data-dir', dirname(first.folder), ...settings, ...timeout];
  const name = all || first.name === 'default' ? 'sightline' : `sightline-${first.name}`;
  printData(mcpClients[client].text({ name, command: process.execPath, args }));
  say(`Add this to ${mcpClients[client].file}, and restart the client.`);
}

/**
 * Returns the settings of the workspaces in the configuration file, and of all others with a replica in the data folder. Without any, those
 * of the default one. An invalid workspace is skipped if another one is valid.
 */
export function allConfigs(flags: WorkspaceFlags): WorkspaceConfig[] {
  if (flags.workspace !== undefined) throw new SightlineError('usage', '--all cannot be combined with --workspace');
  // No workspace has to be named or be the only one, because only the data folder is read.
  const standard = readConfig({ ...flags, workspace: DEFAULT_WORKSPACE });
  const data = dirname(standard.folder);
  const stored = existsSync(data) ? readdirSync(data) : [];
  const names = new Set([
    ...Object.keys(declaredWorkspaces(readSurroundings().folder)),
    ...stored.filter((name) => existsSync(layoutOf(resolve(data, name)).analytics)),
  ]);
  if (names.size === 0) return [standard];
  const errors: SightlineError[] = [];
  const configs = [...names].sort().flatMap((workspace) => {
    try {
      return [readConfig({ ...flags, workspace })];
    } catch (thrown) {
      const error = toSightlineError(thrown);
      errors.push(error);
      say(`sightline: workspace ${workspace} is not served: ${error.message}`);
      return [];
    }
  });
  const [first] = errors;
  if (configs.length === 0 && first !== undefined) throw first;
  return configs;
}
