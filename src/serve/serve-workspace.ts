import { createServer } from 'node:net';
import { dirname } from 'node:path';
import type { FirstRun } from '../operations/first-run.ts';
import { jobsOf } from '../operations/jobs/job-list.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { createFormsVersion } from '../workspace/stored-forms-file.ts';
import type { Context } from '../workspace/workspace.ts';
import { joinKeyrings, openKeyring } from './auth/keys.ts';
import type { ServerParts } from './http/http-server.ts';
import { cursorSecretOf } from './open-service.ts';
import { openForServer } from './open-workspace.ts';
import type { PageAccess } from './pages/page-access.ts';
import { type KeyedServer, type ServingOptions, startServing } from './start-serving.ts';
import { budgetUseOf, statusPartsOf } from './status-parts.ts';
import { monitoredOf } from './workspace-observer.ts';

/** Options of `serveWorkspace`. */
export interface ServeWorkspaceOptions extends Omit<ServingOptions, 'openMax'> {
  /** Access rule of the pages. */
  readonly pages: PageAccess | 'off';
  /** The setup of the workspace through the pages; default: none. The server closes it. */
  readonly setup?: FirstRun;
  /** Whether this process runs the jobs that are due. */
  readonly runsJobs: boolean;
}

/** Serves a workspace over HTTP, even before it has data or keys. Resolves once the server listens. */
export async function serveWorkspace(
  { config, clock }: Pick<Context, 'config' | 'clock'>,
  { pages, setup, runsJobs, ...options }: ServeWorkspaceOptions,
): Promise<KeyedServer> {
  const { name, folder } = config;
  // Validate the jobs now, so that wrong settings fail at startup and not on the first request.
  if (pages !== 'off') jobsOf(config);
  const fleetKeys = openKeyring(dirname(folder));
  const keys = joinKeyrings(openKeyring(folder), fleetKeys, name).count();
  const cursorSecret = await cursorSecretOf(config, true);
  // The setup writes the key of the budget while the server runs.
  const readBudget = () => budgetUseOf(setup?.written() ?? config, clock);
  const status = pages === 'off' ? null : statusPartsOf(config, pages, runsJobs, readBudget);
  const open: ServerParts['open'] = async () => {
    const { parts, close } = openForServer(config, fleetKeys, status, { ...options, clock, cursorSecret });
    // Open the replica early so that the first request does not wait. If this fails, each request reports the error.
    parts.service.newest().catch(() => undefined);
    return { parts: { ...parts, ...(setup === undefined ? {} : { setup }) }, close };
  };
  const server = await startServing(
    {
      clock,
      workspaces: name,
      open,
      version: createFormsVersion(layoutOf(folder).endpoints),
      monitored: monitoredOf(config, clock, readBudget),
      isWorkspace: (given) => given === name,
      standard: name,
      folder: pages === 'off' ? null : folder,
      command: 'serve',
    },
    options,
  );
  const close = async (): Promise<void> => {
    await Promise.all([server.close(), setup?.close()]);
  };
  return { ...server, keys, close };
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
