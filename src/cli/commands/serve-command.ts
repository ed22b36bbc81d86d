import { type ErrorCode, EXIT, SightlineError } from '../../base/errors.ts';
import { jobsOf } from '../../operations/jobs/job-list.ts';
import { upcoming } from '../../scheduler/schedule.ts';
import { type ServedWorkspace, serveWorkspace } from '../../serve/serve-workspace.ts';
import type { Context } from '../../session/workspace.ts';
import { commandContext } from '../context.ts';
import type { Parse } from '../invocation.ts';
import { printData, say } from '../output/output.ts';
import { openTerminalLog } from '../output/terminal-log.ts';
import { type Ownership, ownWorkspace } from '../serve-owner.ts';
import { listening, type Options, type ServeFlags, toOptions, warnOfReach } from '../serving.ts';

/** Runs `sightline serve` until the signal is aborted, and returns exit code 0. `parse` reads the command lines of clients. */
export async function serve(flags: ServeFlags, signal: AbortSignal, parse: Parse): Promise<number> {
  const given = toOptions(flags);
  if (flags.role === 'api') return (await import('./serve-api-command.ts')).serveApiCommand(flags, given, signal);
  const context = commandContext('serve', flags, signal);
  context.config.notify();
  const log = await openTerminalLog(given.logLevel, context.clock);
  const options = { ...given, log };
  const server = await listening(options, flags, () => serveWorkspace(context, options));
  const ownership = await own(context, options, flags, parse);
  if (flags.json === true) {
    const { baseUrl, mcpUrl, metricsUrl, statusUrl } = server;
    printData(JSON.stringify({ baseUrl, mcpUrl, metricsUrl, statusUrl }));
  } else {
    describe(server, context.config.name);
    if (ownership?.owner === null && flags.jobs) say(describeJobs(context));
  }
  warnOfReach(options.host);
  if (server.keys === 0) say('No keys yet: create one with `sightline keys create NAME`; no restart is needed.');
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await Promise.all([ownership?.close(), server.close()]);
  // Flush after all parts have ended, because each may write a last line.
  log.stream.flush();
  return EXIT.done;
}

/** Errors after which the server still serves the published data, but does not run jobs and commands. */
const NOT_OWNED: readonly ErrorCode[] = ['folder_unwritable', 'owner_untrusted'];

async function own(
  context: Context,
  { logLevel, log }: Options,
  flags: ServeFlags,
  parse: Parse,
): Promise<Ownership | null> {
  try {
    const ownership = await ownWorkspace(context, flags, { runsJobs: flags.jobs, parse, logLevel, log });
    if (ownership.owner !== null) {
      const { command, pid } = ownership.owner;
      say(`Jobs run in \`sightline ${command}\` (process ${pid}), which owns the workspace, until it ends.`);
    }
    return ownership;
  } catch (thrown) {
    if (!(thrown instanceof SightlineError) || !NOT_OWNED.includes(thrown.code)) throw thrown;
    say(`This process runs no jobs: ${thrown.message}`);
    return null;
  }
}

function describeJobs({ config, clock }: Context): string {
  const [next] = upcoming(jobsOf(config), clock.now(), 1);
  if (next === undefined) return 'All jobs are disabled.';
  return `The next job is ${next.job.name}, at ${new Date(next.atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC.`;
}

function describe({ baseUrl, mcpUrl, metricsUrl, statusUrl }: ServedWorkspace, workspace: string): void {
  say(`Serving workspace ${workspace} at ${baseUrl}, and to AI assistants at ${mcpUrl}.`);
  if (statusUrl !== null) say(`Status page: ${statusUrl}`);
  if (metricsUrl !== null) say(`Metrics: ${metricsUrl}`);
}
