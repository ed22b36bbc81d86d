import { createServer } from 'node:net';
import { dirname } from 'node:path';
import type { OAuthSettings } from '../base/config/oauth-settings.ts';
import type { FirstRun } from '../operations/first-run.ts';
import { jobsOf } from '../operations/jobs/job-list.ts';
import { openSavedQueries } from '../operations/sql/saved-queries.ts';
import { createSqlService } from '../operations/sql/sql-service.ts';
import { createFormsVersion } from '../session/stored-forms-file.ts';
import type { Context } from '../session/workspace.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { joinKeyrings, openKeyring } from './auth/keys.ts';
import { openSessions } from './auth/sessions.ts';
import { ENCODER } from './data/sql-files.ts';
import { type OpenedParts, type RunningServer, type ServerOptions, startServer } from './http/http-server.ts';
import { openOAuth } from './open-oauth.ts';
import { cursorSecretOf, idleTimeoutFor, openService } from './open-service.ts';
import type { PageAccess } from './pages/page-access.ts';
import { openSignIn, type SignIn } from './sign-in.ts';
import { budgetUseOf, statusPartsOf } from './status-parts.ts';
import { type LogTarget, openLog } from './telemetry/server-log.ts';
import { monitoredOf } from './workspace-observer.ts';

/** Options of `serveWorkspace`. */
export interface ServeWorkspaceOptions extends Omit<ServerOptions, 'limits'> {
  readonly queryTimeoutMs: number;
  /** Access rule of the pages. */
  readonly pages: PageAccess | 'off';
  /** Folder of the built data pages; default: the pages of this package. */
  readonly app?: URL;
  /** The setup of the workspace through the pages; default: none. The server closes it. */
  readonly setup?: FirstRun;
  /** Whether this process runs the jobs that are due. */
  readonly runsJobs: boolean;
  readonly log: LogTarget;
  /** The authorization server whose access tokens are accepted; default: none. */
  readonly oauth?: OAuthSettings | null;
}

/** A running server of one workspace. `keys` is the number of API keys at the start. */
export interface ServedWorkspace extends RunningServer, Pick<SignIn, 'signInUrl'> {
  readonly keys: number;
}

/** Serves a workspace over HTTP, even before it has data or keys. Resolves once the server listens. */
export async function serveWorkspace(
  { config, clock }: Pick<Context, 'config' | 'clock'>,
  { queryTimeoutMs, pages, app, setup, runsJobs, oauth: settings = null, ...options }: ServeWorkspaceOptions,
): Promise<ServedWorkspace> {
  // Validate the jobs now, so that wrong settings fail at startup and not on the first request.
  if (pages !== 'off') jobsOf(config);
  const keyring = joinKeyrings(openKeyring(config.folder), openKeyring(dirname(config.folder)), config.name);
  const keys = keyring.count();
  const secret = await cursorSecretOf(config, true);
  const { snapshots, analytics, queries, endpoints } = layoutOf(config.folder);
  const saved = openSavedQueries(queries);
  const open = async (): Promise<OpenedParts> => {
    const service = openService(config, clock, secret, queryTimeoutMs);
    // Open the replica early so that the first request does not wait. If this fails, each request reports the error.
    service.newest().catch(() => undefined);
    const sql = createSqlService({ path: analytics, catalogue: service.catalogue, clock, encoder: ENCODER });
    const close = async (): Promise<void> => {
      await Promise.all([service.close(), sql.close()]);
    };
    return { service, sql: { sql, saved }, close };
  };

  const idleTimeoutMs = idleTimeoutFor(queryTimeoutMs);
  // The setup writes the key of the budget while the server runs.
  const readBudget = () => budgetUseOf(setup?.written() ?? config, clock);
  const page =
    pages === 'off'
      ? {}
      : { status: statusPartsOf(config, pages, runsJobs, readBudget), sessions: openSessions(config.folder, clock) };
  const files = { ...(app === undefined ? {} : { app }), ...(setup === undefined ? {} : { setup }) };
  const workspacesOf = (): readonly string[] => [config.name];
  const log = openLog(options.log, options.logLevel, clock);
  const isOurs = (name: string): boolean => name === config.name;
  const oauth = await openOAuth(settings, { clock, log, isWorkspace: isOurs, standard: config.name });
  const tokens = oauth === null ? {} : { oauth: oauth.siteOf(config.name) };
  const server = await startServer(
    {
      renewal: { version: createFormsVersion(endpoints), open },
      keyring,
      workspacesOf,
      clock,
      log,
      snapshots,
      monitored: monitoredOf(config, clock, readBudget),
      ...page,
      ...files,
      ...tokens,
    },
    { ...options, limits: { idleTimeoutMs } },
  );
  const folder = pages === 'off' ? null : config.folder;
  const signIn = await openSignIn(folder, server.baseUrl, 'serve', clock.now);
  const close = async (): Promise<void> => {
    await Promise.all([signIn.close(), server.close(), setup?.close()]);
  };
  return { ...server, keys, signInUrl: signIn.signInUrl, close };
}

/** Listens on a port and closes it again. Rejects with the error of the system if that is impossible. */
export async function listenBriefly(host: string, port: number): Promise<void> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen({ host, port }, resolve);
  });
  await new Promise((resolve) => probe.close(resolve));
}
