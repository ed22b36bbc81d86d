import { existsSync } from 'node:fs';
import PQueue from 'p-queue';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config.ts';
import { toSightlineError } from '../base/errors.ts';
import type { Log } from '../serve/http/log.ts';
import {
  type OpenedWorkspace,
  type RoutedOptions,
  type RoutedServer,
  startRoutedServer,
} from '../serve/http/routed-server.ts';
import { createKeyDirectory } from '../serve/key-directory.ts';
import { openKeyring } from '../serve/keys.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { cursorSecretOf, idleTimeoutFor, openService } from './service.ts';
import { type Context, catalogue } from './workspace.ts';

/** Copies that are fetched at once. */
const FETCHES_AT_ONCE = 4;

/** How `serveApi` serves. */
export interface ApiOptions extends Omit<RoutedOptions, 'limits'> {
  readonly queryTimeoutMs: number;
  /** How often the copies of workspaces that are open are looked after, milliseconds. */
  readonly refreshMs: number;
  readonly log: Log;
  /** The settings of all workspaces, as they are now; told apart by the list's identity. */
  readonly workspaces: () => ReadonlyMap<string, WorkspaceConfig>;
  /** Brings a workspace's newest copy to its folder, where its home is elsewhere. */
  readonly refresh: (context: Context) => Promise<unknown>;
}

/** A server of all workspaces, and how many keys open them so far. */
export interface ServedApi extends RoutedServer {
  readonly keys: number;
}

/** Serves the published copies of all workspaces over HTTP, each to the holders of its keys; resolves once it listens. */
export async function serveApi(
  surroundings: Pick<Context, 'clock' | 'signal'>,
  options: ApiOptions,
): Promise<ServedApi> {
  const { clock } = surroundings;
  const stop = new AbortController();
  const signal = AbortSignal.any([surroundings.signal, stop.signal]);
  const { log, workspaces, queryTimeoutMs } = options;
  const directory = createKeyDirectory({
    folders: createFolders(workspaces),
    monotonic: clock.monotonic,
    onDamage: (workspace, thrown) => log.logger.error({ workspace, err: thrown }),
  });
  const queue = new PQueue({ concurrency: FETCHES_AT_ONCE });
  const troubled = new Set<string>();
  // What stands in the way of one copy is said once, and what is there is served meanwhile.
  const refresh = (name: string, config: WorkspaceConfig): Promise<void> =>
    queue.add(async () => {
      // What waits yet when all ends is waited for by those who open: it is not thrown away, but over at once.
      if (signal.aborted) return;
      try {
        await options.refresh({ config, clock, signal, command: 'serve --role api' });
        if (troubled.delete(name)) log.logger.info({ workspace: name, msg: 'the copy can be fetched again' });
      } catch (thrown) {
        if (signal.aborted || troubled.has(name)) return;
        troubled.add(name);
        const { code, message } = toSightlineError(thrown);
        log.logger.warn({ workspace: name, code, msg: `the newest copy could not be fetched: ${message}` });
      }
    });
  const open = async (name: string): Promise<OpenedWorkspace> => {
    const config = workspaces().get(name) as WorkspaceConfig;
    const first = refresh(name, config);
    const { analytics, snapshots } = layoutOf(config.folder);
    // Where a copy is there already, nobody waits for a newer one.
    if (!existsSync(analytics)) await first;
    const service = openService(config, clock, await cursorSecretOf(config, true), queryTimeoutMs);
    return { parts: { service, keyring: openKeyring(config.folder), snapshots }, close: () => service.close() };
  };
  const keys = directory.count();
  const limits = { idleTimeoutMs: idleTimeoutFor(queryTimeoutMs) };
  const edition = (name: string): string => editionOf(workspaces().get(name));
  const server = await startRoutedServer({ catalogue, clock, log, directory, open, edition }, { ...options, limits });
  const refreshOpen = async (): Promise<void> => {
    const current = workspaces();
    for (const name of server.open()) {
      const config = current.get(name);
      if (config !== undefined) void refresh(name, config);
    }
    await queue.onIdle();
  };
  const looking = everySoOften(clock, options.refreshMs, signal, refreshOpen);
  const close = async (): Promise<void> => {
    stop.abort();
    await Promise.all([server.close(), looking, queue.onIdle()]);
  };
  return { ...server, keys, close };
}

async function everySoOften(clock: Clock, ms: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(ms, signal).catch(() => undefined);
    if (!signal.aborted) await work();
  }
}

const editions = new WeakMap<WorkspaceConfig, string>();

// What a workspace was opened with, and cannot be changed while it is open.
function editionOf(config: WorkspaceConfig | undefined): string {
  if (config === undefined) return '';
  const known = editions.get(config) ?? JSON.stringify([config.folder, config.conventions]);
  editions.set(config, known);
  return known;
}

// Made anew only where the settings are others: every request asks for it.
function createFolders(workspaces: ApiOptions['workspaces']): () => ReadonlyMap<string, string> {
  let of: ReadonlyMap<string, WorkspaceConfig> = new Map();
  let folders: ReadonlyMap<string, string> = new Map();
  return () => {
    const current = workspaces();
    if (current !== of) {
      of = current;
      folders = new Map([...current].map(([name, { folder }]) => [name, folder]));
    }
    return folders;
  };
}
