import { EXIT, errorTable, hideKeys } from '../../base/errors.ts';
import { mcpWorkspace } from '../../serve/serve-workspace.ts';
import { commandContext, toInteger, type WorkspaceFlags } from '../context.ts';
import { say } from '../output/output.ts';

/** Flags of `mcp`. */
export interface McpFlags extends WorkspaceFlags {
  readonly queryTimeout: string;
}

/**
 * Runs `sightline mcp` until standard input ends or the signal is aborted, and returns its exit code. Needs no API key, because
 * the user who starts it can read the files anyway.
 */
export async function mcp(flags: McpFlags, signal: AbortSignal): Promise<number> {
  const context = commandContext('mcp', flags, signal);
  await mcpWorkspace(context, {
    streams: { input: process.stdin, output: process.stdout },
    queryTimeoutMs: toInteger('--query-timeout', flags.queryTimeout, 1, 600) * 1_000,
    onStart: ({ ready }) => {
      if (ready) return;
      say(`sightline: workspace ${context.config.name} has no data in ${context.config.folder} yet`);
      say(`${errorTable.no_data.hint} Until then every request fails with this error.`);
    },
    onError: (error) => say(`sightline: ${hideKeys(error.message)}`),
  });
  return EXIT.done;
}
