import { EXIT, errorTable, hideKeys } from '../../../base/errors.ts';
import { say } from '../../output/output.ts';
import { queryTimeout, workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';

/** `mcp` needs no API key, because the user who starts it can read the files anyway. */
export const mcp = defineCommand({
  options: { ...workspaceOptions, queryTimeout },
  examples: [
    ['sightline mcp', 'serve an assistant that starts the command'],
    ['sightline mcp --workspace acme --query-timeout 60', 'serve another workspace, with more time for queries'],
  ],
  run: async ({ queryTimeout: timeoutMs, ...unread }, begin) => {
    const call = begin(unread);
    const { mcpWorkspace } = await import('../../../serve/serve-workspace.ts');
    const context = await call.context();
    await mcpWorkspace(context, {
      streams: { input: process.stdin, output: process.stdout },
      queryTimeoutMs: timeoutMs,
      onStart: ({ ready }) => {
        if (ready) return;
        say(`sightline: workspace ${context.config.name} has no data in ${context.config.folder} yet`);
        say(`${errorTable.no_data.hint} Until then every request fails with this error.`);
      },
      onError: (error) => say(`sightline: ${hideKeys(error.message)}`),
    });
    return EXIT.done;
  },
});
