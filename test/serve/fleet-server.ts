import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { loadConfig, type WorkspaceConfig } from '../../src/base/config/config.ts';
import { serveApi } from '../../src/serve/serve-api.ts';
import { openLog } from '../../src/serve/telemetry/server-log.ts';
import type { CloseLater } from './served-world.ts';

type Options = Parameters<typeof serveApi>[1];

/** Options of a server on loopback without limits. */
export const OPEN_OPTIONS = {
  host: '127.0.0.1',
  port: 0,
  metricsPort: null,
  rateLimit: 'off',
  corsOrigins: [],
  allowedHosts: [],
  logLevel: 'info',
} as const;

/** Creates folders of workspaces without data in a folder; returns their settings by name. */
export async function workspacesIn(folder: string, names: readonly string[]): Promise<Map<string, WorkspaceConfig>> {
  for (const name of names) await mkdir(join(folder, name));
  return new Map(names.map((name) => [name, workspaceIn(folder, name)]));
}

/** Returns the settings of a workspace in a subfolder of another workspace's folder. */
export function workspaceIn(folder: string, name: string): WorkspaceConfig {
  return { ...loadConfig({ flags: {}, environment: {}, folder }), name, folder: join(folder, name) };
}

/** Serves several workspaces at one address until the test ends. `lines` receives the log. */
export async function openFleetServer(
  given: Pick<Options, 'fleetFolder' | 'workspaces'> & Partial<Options>,
  {
    lines = [],
    clock = systemClock,
    closeLater = onTestFinished,
  }: { lines?: string[]; clock?: Clock; closeLater?: CloseLater } = {},
): ReturnType<typeof serveApi> {
  const server = await serveApi(
    { clock, signal: new AbortController().signal },
    {
      ...OPEN_OPTIONS,
      openMax: 10,
      queryTimeoutMs: 30_000,
      refreshMs: 60_000,
      log: openLog((text) => void lines.push(text), 'info', clock),
      pages: 'key',
      refresh: async () => undefined,
      ...given,
    },
  );
  closeLater(() => server.close());
  return server;
}
