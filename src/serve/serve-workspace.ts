import type { WorkspaceConfig } from '../base/config/config.ts';
import type { OAuthSettings } from '../base/config/oauth-settings.ts';
import { jobLines, jobsOf } from '../operations/jobs/job-list.ts';
import { toShownTexts } from '../query/shown-text.ts';
import type { Context } from '../session/workspace.ts';
import { layoutOf } from '../snapshot/layout.ts';
import type { StatusAccess, StatusParts } from '../web/operations/page-parts.ts';
import { openKeyring } from './auth/keys.ts';
import { type RunningServer, type ServerOptions, startServer } from './http/http-server.ts';
import { openOAuth } from './open-oauth.ts';
import { cursorSecretOf, idleTimeoutFor, openService } from './open-service.ts';
import { type LogTarget, openLog } from './telemetry/server-log.ts';
import { monitoredOf } from './workspace-observer.ts';

/** Options of `serveWorkspace`. */
export interface ServeWorkspaceOptions extends Omit<ServerOptions, 'limits'> {
  readonly queryTimeoutMs: number;
  /** Access rule of the status page. */
  readonly statusPage: StatusAccess | 'off';
  /** Whether this process runs the jobs that are due. */
  readonly runsJobs: boolean;
  readonly log: LogTarget;
  /** The authorization server whose access tokens are accepted; default: none. */
  readonly oauth?: OAuthSettings | null;
}

/** A running server of one workspace. `keys` is the number of API keys at the start. */
export interface ServedWorkspace extends RunningServer {
  readonly keys: number;
}

/** Serves a workspace over HTTP, even before it has data or keys. Resolves once the server listens. */
export async function serveWorkspace(
  { config, clock }: Pick<Context, 'config' | 'clock'>,
  { queryTimeoutMs, statusPage, runsJobs, oauth: settings = null, ...options }: ServeWorkspaceOptions,
): Promise<ServedWorkspace> {
  const keyring = openKeyring(config.folder);
  const keys = keyring.count();
  const service = openService(config, clock, await cursorSecretOf(config, true), queryTimeoutMs);
  // Open the replica early so that the first request does not wait. If this fails, each request reports the error.
  service.newest().catch(() => undefined);
  try {
    const { snapshots } = layoutOf(config.folder);
    const idleTimeoutMs = idleTimeoutFor(queryTimeoutMs);
    const status = statusPage === 'off' ? {} : { status: statusPageOf(config, statusPage, runsJobs) };
    const log = openLog(options.log, options.logLevel, clock);
    const isOurs = (name: string): boolean => name === config.name;
    const oauth = await openOAuth(settings, { clock, log, isWorkspace: isOurs, standard: config.name });
    const tokens = oauth === null ? {} : { oauth: oauth.siteOf(config.name) };
    const server = await startServer(
      { service, keyring, clock, log, snapshots, monitored: monitoredOf(config, clock), ...status, ...tokens },
      { ...options, limits: { idleTimeoutMs } },
    );
    const close = async (): Promise<void> => {
      await server.close();
      await service.close();
    };
    return { ...server, keys, close };
  } catch (thrown) {
    await service.close();
    throw thrown;
  }
}

// The data of a workspace's status page that the page cannot read itself. Throws `config_invalid`.
function statusPageOf(config: WorkspaceConfig, access: StatusAccess, runsJobs: boolean): StatusParts {
  // Validate the jobs now, so that wrong settings fail at startup and not on the first request.
  jobsOf(config);
  const jobs: StatusParts['jobs'] = async (nowMs) => toShownTexts(await jobLines(config, nowMs));
  return { access, workspace: config.name, folder: config.folder, runsJobs, jobs };
}
