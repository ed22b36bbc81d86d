import { randomBytes } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { beforeAll } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { loadConfig, type WorkspaceConfig } from '../../src/base/config/config.ts';
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import type { Service } from '../../src/read/service.ts';
import { openService } from '../../src/serve/open-service.ts';
import { type ServeWorkspaceOptions, serveWorkspace } from '../../src/serve/serve-workspace.ts';
import type { KeyedServer } from '../../src/serve/start-serving.ts';
import { NOW_MS } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';
import { originalOf, type World } from '../support/worlds.ts';
import { OPEN_OPTIONS } from './fleet-server.ts';

/** The time of worlds for servers, whose timers take real time. */
export const stillClock: Clock = { ...systemClock, now: () => NOW_MS };

/** Registers the end of something that `sharedBefore` opens; the last one ends first. */
export type CloseLater = (close: () => Promise<void>) => void;

/** Opens something before the tests of a file and closes it after them; returns a function that returns it. */
export function sharedBefore<T>(open: (closeLater: CloseLater) => Promise<T>): () => T {
  const opened: T[] = [];
  beforeAll(async () => {
    const ends: (() => Promise<void>)[] = [];
    opened.push(await open((close) => void ends.unshift(close)));
    return async () => {
      for (const end of ends) await end();
    };
  });
  return () => {
    if (opened.length === 0) throw new Error('it is opened before the tests, not when they are collected');
    return opened[0] as T;
  };
}

/** A brand of a world. */
export interface WorldBrand {
  readonly id: string;
  readonly name: string;
}

/** A world as a workspace. */
export type WorldWorkspace = Awaited<ReturnType<typeof readWorkspace>>;

/** Reads a world before the tests of a file, which must not change it; returns a function that returns it. */
export function worldBefore(world: World = 'tiny'): () => WorldWorkspace {
  return sharedBefore(async () => readWorkspace(await originalOf(world)));
}

/** Copies a world before the tests of a file; returns a function that returns the copy. */
export function copyBefore(world: World = 'tiny'): () => WorldWorkspace {
  return sharedBefore(async (closeLater) => openCopy(world, closeLater));
}

/** Copies a world. */
export async function openCopy(world: World, closeLater: CloseLater): Promise<WorldWorkspace> {
  const folder = await temporaryFolder(closeLater);
  await cp(await originalOf(world), folder, { recursive: true, verbatimSymlinks: true });
  return readWorkspace(folder);
}

/** Reads the workspace in a folder that has data: its settings, the path of its replica and its brands. */
export async function readWorkspace(folder: string) {
  const config = loadConfig({ flags: {}, environment: {}, folder });
  const service = openWorldService(config);
  const { brands: known } = await service.newest();
  await service.close();
  const brands: WorldBrand[] = [...known].map(([id, { name }]) => ({ id, name: name ?? '' }));
  return { config, copy: layoutOf(config.folder).analytics, brands, brandId: brands[0]?.id ?? '' };
}

/** Opens the query layer of a workspace at the time of worlds. The caller closes it. */
export function openWorldService(config: WorkspaceConfig): Service {
  return openService(config, stillClock, randomBytes(32), 30_000);
}

/** Opens the query layer of a workspace before the tests of a file; returns a function that returns it. */
export function serviceBefore(workspace: () => WorldWorkspace): () => Service {
  return sharedBefore(async (closeLater) => {
    const service = openWorldService(workspace().config);
    closeLater(service.close);
    return service;
  });
}

/** Serves a workspace, at the time of worlds by default, without jobs and without a rate limit. The caller closes it. */
export function serveWorld(
  config: WorkspaceConfig,
  changes: Partial<ServeWorkspaceOptions> = {},
  clock = stillClock,
): Promise<KeyedServer> {
  return serveWorkspace(
    { config, clock },
    {
      ...OPEN_OPTIONS,
      logLevel: 'silent',
      queryTimeoutMs: 30_000,
      pages: 'key',
      runsJobs: false,
      log: () => undefined,
      ...changes,
    },
  );
}
