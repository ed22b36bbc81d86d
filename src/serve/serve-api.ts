import { existsSync } from 'node:fs';
import PQueue from 'p-queue';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { toSightlineError } from '../base/errors.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { builtInCatalogue } from '../workspace/catalogues.ts';
import { createFormsVersion } from '../workspace/stored-forms-file.ts';
import type { Context } from '../workspace/workspace.ts';
import { createKeyDirectory } from './auth/key-directory.ts';
import { openKeyring } from './auth/keys.ts';
import { createFleet } from './data/fleet.ts';
import type { OpenedWorkspace } from './http/http-server.ts';
import { cursorSecretOf } from './open-service.ts';
import { openForServer } from './open-workspace.ts';
import { type KeyedServer, type ServingOptions, startServing } from './start-serving.ts';
import { budgetUseOf, statusPartsOf } from './status-parts.ts';
import type { Log } from './telemetry/server-log.ts';

/** Replicas that are fetched at the same time. */
const FETCHES_AT_ONCE = 4;

/** Options of `serveApi`. */
export interface ApiOptions extends ServingOptions {
  /** Maximum number of open workspaces; the least recently used is closed first. */
  readonly openMax: number;
  /** Interval at which the replicas of open workspaces are refreshed, in milliseconds. */
  readonly refreshMs: number;
  readonly log: Log;
  /** The data folder, with the sessions and the keys for several workspaces. */
  readonly fleetFolder: string;
  /** Access rule of the pages. */
  readonly pages: 'key' | 'off';
  /** Returns the current settings of all workspaces. Changes are detected by identity, so a changed list must be a new Map. */
  readonly workspaces: () => ReadonlyMap<string, WorkspaceConfig>;
  /** Publishes a workspace's newest replica in its folder if the workspace has a home. */
  readonly refresh: (context: Context) => Promise<unknown>;
}

/** Serves the replicas of all workspaces over HTTP. A key opens only its own workspace. Resolves once the server listens. */
export async function serveApi(
  surroundings: Pick<Context, 'clock' | 'signal'>,
  options: ApiOptions,
): Promise<KeyedServer> {
  const { clock } = surroundings;
  const stop = new AbortController();
  const signal = AbortSignal.any([surroundings.signal, stop.signal]);
  const { log, workspaces, queryTimeoutMs, pages, fleetFolder } = options;
  const directory = createKeyDirectory({
    workspaces,
    fleetFolder,
    monotonic: clock.monotonic,
    onDamage: (workspace, thrown) => log.logger.error({ workspace, err: thrown }),
  });
  const fleetKeys = openKeyring(fleetFolder);
  const queue = new PQueue({ concurrency: FETCHES_AT_ONCE });
  const refresh = createRefresh(options, clock, signal, queue);
  const open = async (name: string): Promise<OpenedWorkspace> => {
    const config = workspaces().get(name) as WorkspaceConfig;
    const first = refresh(name, config);
    // If a replica already exists, serve it while the newer one is fetched.
    if (!existsSync(layoutOf(config.folder).analytics)) await first;
    const status = pages === 'off' ? null : statusPartsOf(config, pages, false, () => budgetUseOf(config, clock));
    const cursorSecret = await cursorSecretOf(config, true);
    return openForServer(config, fleetKeys, status, { ...options, clock, cursorSecret });
  };
  const keys = directory.count();
  const fleet = createFleet({ clock, queryTimeoutMs, signal, workspaces });
  const server = await startServing(
    {
      clock,
      workspaces: { catalogue: builtInCatalogue, directory, fleet: pages === 'off' ? undefined : fleet },
      open,
      version: createVersions(workspaces),
      isWorkspace: (name) => workspaces().has(name),
      standard: null,
      folder: pages === 'off' ? null : fleetFolder,
      command: 'serve --role api',
    },
    options,
  );
  const refreshOpen = async (): Promise<void> => {
    const current = workspaces();
    for (const name of server.open()) {
      const config = current.get(name);
      if (config !== undefined) void refresh(name, config);
    }
    await queue.onIdle();
  };
  const refreshing = repeatEvery(clock, options.refreshMs, signal, refreshOpen);
  const close = async (): Promise<void> => {
    stop.abort();
    await Promise.all([server.close(), refreshing, queue.onIdle(), fleet.close()]);
  };
  return { ...server, keys, close };
}

/** Fetches the newest replica of a workspace. */
type Refresh = (name: string, config: WorkspaceConfig) => Promise<void>;

// Logs a failing refresh once per workspace, and keeps serving the replica that is already here.
function createRefresh(options: ApiOptions, clock: Clock, signal: AbortSignal, queue: PQueue): Refresh {
  const { log } = options;
  const failing = new Set<string>();
  return (name, config) =>
    queue.add(async () => {
      // `open` awaits this task, so a queued task must still run after an abort. It returns at once.
      if (signal.aborted) return;
      try {
        await options.refresh({ config, clock, signal, command: 'serve --role api' });
        if (failing.delete(name)) log.logger.info({ workspace: name, msg: 'the replica can be fetched again' });
      } catch (thrown) {
        if (signal.aborted || failing.has(name)) return;
        failing.add(name);
        const { code, message } = toSightlineError(thrown);
        log.logger.warn({ workspace: name, code, msg: `cannot fetch the newest replica: ${message}` });
      }
    });
}

async function repeatEvery(clock: Clock, ms: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(ms, signal, 'background').catch(() => undefined);
    if (!signal.aborted) await work();
  }
}

// Identifies the settings and the resources that cannot change while a workspace is open.
function createVersions(workspaces: ApiOptions['workspaces']): (name: string) => string {
  const names = new WeakMap<WorkspaceConfig, string>();
  const versions = new WeakMap<WorkspaceConfig, () => string>();
  return (workspace) => {
    const config = workspaces().get(workspace);
    if (config === undefined) return '';
    const name = names.get(config) ?? JSON.stringify([config.folder, config.conventions]);
    names.set(config, name);
    const endpoints = versions.get(config) ?? createFormsVersion(layoutOf(config.folder).endpoints);
    versions.set(config, endpoints);
    return `${name} ${endpoints()}`;
  };
}
