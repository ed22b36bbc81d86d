import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { WorkspaceConfig } from '../../../base/config/config.ts';
import { EXIT, errorTable, hideKeys, SightlineError } from '../../../base/errors.ts';
import { say } from '../../output/output.ts';
import { terminal, withTerminal } from '../../output/terminal.ts';
import { queryTimeout, workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { flag, oneOf, text } from '../../program/option-kinds.ts';
import { type McpClient, mcpClients } from './mcp-config.ts';

/** `mcp` needs no API key, because the user who starts it can read the files anyway. */
export const mcp = defineCommand({
  options: {
    ...workspaceOptions,
    all: flag('serve all workspaces; each tool call names one'),
    printConfig: oneOf(
      '<client>',
      'print the settings that make this client start the server',
      Object.keys(mcpClients) as McpClient[],
    ),
    folder: text('<folder>', 'folder with sightline.config.json and .env (default: the current one)'),
    queryTimeout,
  },
  examples: [
    ['sightline mcp --print-config claude-desktop', 'print the settings for a client, with absolute paths'],
    ['sightline mcp --all --query-timeout 60', 'serve all workspaces, with more time for queries'],
  ],
  run: async ({ all, printConfig, folder, queryTimeout: queryTimeoutMs, ...unread }, begin) => {
    const call = begin(unread);
    const at = folderOf(folder);
    const onError = (error: Error): void => say(`sightline: ${hideKeys(error.message)}`);
    const { stdin, stdout } = terminal();
    const options = { streams: { input: stdin, output: stdout }, queryTimeoutMs, onError };
    return withTerminal({ folder: at }, async () => {
      const { allConfigs, printSettings } = await import('./mcp-workspaces.ts');
      const configs = all ? allConfigs(call.flags) : [await call.config()];
      if (printConfig !== null) {
        printSettings(printConfig, all, configs, queryTimeoutMs);
        return EXIT.done;
      }
      const { serveMcp } = await import('../../../serve/serve-mcp.ts');
      const [first] = configs;
      const onStart = ({ ready }: { ready: boolean }): void =>
        ready || first === undefined ? undefined : sayEmpty(first);
      await serveMcp(configs, { clock: terminal().clock, signal: call.signal }, { ...options, onStart });
      return EXIT.done;
    });
  },
});

// Without the folder the defaults would apply, and other data would be served.
function folderOf(given: string | null): string {
  const folder = resolve(given ?? '.');
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return folder;
  throw new SightlineError('usage', `--folder is ${JSON.stringify(given)}; allowed: an existing folder`);
}

function sayEmpty({ name, folder }: WorkspaceConfig): void {
  say(`sightline: workspace ${name} has no data in ${folder} yet`);
  say(`${errorTable.no_data.hint} Until then every request fails with this error.`);
}
