import { dirname } from 'node:path';
import { ownSettings, type WorkspaceConfig } from '../base/config/config.ts';
import { readEnvironment } from '../base/config/environment.ts';
import { EXIT, SightlineError } from '../base/errors.ts';
import { type RunningOwner, startOwner } from '../operations/run-owner.ts';
import { type Log, type LogLevel, type LogTarget, openLog } from '../serve/telemetry/server-log.ts';
import type { DigestSetting } from '../session/handshake.ts';
import { folderIdOf } from '../session/owner-record.ts';
import type { RunForwarded } from '../session/owner-server.ts';
import type { ForwardedCommand } from '../session/socket-frames.ts';
import type { Context } from '../session/workspace.ts';
import { readConfig, type WorkspaceFlags } from './context.ts';
import type { Parse } from './invocation.ts';
import { loggedSteps } from './job-steps.ts';
import { terminal, withTerminal } from './output/terminal.ts';
import { runArguments } from './run-arguments.ts';

/** Options of `ownWorkspace`. */
export interface OwnerOptions {
  /** Whether to run jobs when they are due. */
  readonly runsJobs: boolean;
  /** Parses the command lines of clients. */
  readonly parse: Parse;
  /** Level of the log that `ownWorkspace` opens on `log`. */
  readonly logLevel: LogLevel;
  readonly log: LogTarget;
}

/** Owns a workspace for `serve`, as `startOwner` does, and writes what happens to a log. Throws like `startOwner`. */
export async function ownWorkspace(
  context: Context,
  flags: WorkspaceFlags,
  { runsJobs, parse, logLevel, log: target }: OwnerOptions,
): Promise<RunningOwner> {
  const { logger, stream } = openLog(target, logLevel, context.clock);
  const log: Parameters<typeof loggedSteps>[1] = (level, entry) => logger[level](entry);
  const run = createRunForwarded(parse, context.config, logger);
  const running = await startOwner(context, { runsJobs, run, perform: loggedSteps(flags, log), log });
  const close = async (): Promise<void> => {
    await running.close();
    stream.flush();
  };
  return { owner: running.owner, close };
}

// Runs a client's command with the settings of this process. Settings that the client sets must have the same values.
function createRunForwarded(parse: Parse, config: WorkspaceConfig, logger: Log['logger']): RunForwarded {
  // Requests of clients arrive outside the surroundings of the command that serves.
  const { folder, environment, variables } = terminal();
  const choice = { SIGHTLINE_WORKSPACE: config.name, SIGHTLINE_DATA_DIR: dirname(config.folder) };
  return async ({ arguments: argv, settings, timeZone }, output, signal, digest) => {
    const own = { ...(environment ?? readEnvironment(folder, variables)), ...choice };
    const differs = differingSettings(settings, ownSettings({ environment: own, folder }), digest);
    if (differs.length > 0) return { differs };
    return withTerminal({ ...output, isHosted: true, folder, environment: own, timeZone }, async () => {
      const exitCode = await runArguments(parse, argv, async ({ action, forwardable }) => {
        if (forwardable === null)
          throw new SightlineError(
            'usage',
            `the owner of the workspace does not run \`${argv[0]}\` for other processes`,
          );
        const asked = readConfig(forwardable.flags);
        if (asked.folder !== config.folder && (await folderIdOf(asked.folder)) !== (await folderIdOf(config.folder))) {
          throw new SightlineError(
            'usage',
            `the folder is ${asked.folder}; allowed: ${config.folder}, which this process serves`,
          );
        }
        return action(signal);
      });
      logger[exitCode === EXIT.failed ? 'info' : 'debug']({ msg: `ran sightline ${argv[0]} for a client`, exitCode });
      return exitCode;
    });
  };
}

/** Names of the client's settings that this process lacks or sets to another value. The client may set fewer. */
function differingSettings(
  digests: ForwardedCommand['settings'],
  own: Readonly<Record<string, string>>,
  digest: DigestSetting,
): string[] {
  return Object.keys(digests)
    .filter((name) => !Object.hasOwn(own, name) || digest(name, own[name] as string) !== digests[name])
    .sort();
}
