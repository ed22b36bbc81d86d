import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { CONFIG_FILE } from '../../base/config/config-file.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import type { WorkspaceList } from '../jobs/run-worker.ts';
import type { JobLogger } from '../jobs/run-workspace-job.ts';
import { plannedOf } from './open-runner.ts';

/** Minimum time between two checks of the configuration file, in milliseconds. */
const CHECK_EVERY_MS = 1_000;
const NO_FILE = 'none';

/** A configured workspace with its settings, or the error of loading them. */
export type Configured =
  | { readonly name: string; readonly config: WorkspaceConfig }
  | { readonly name: string; readonly error: SightlineError };

/** Settings of the workspaces with valid settings. */
export function validConfigs(configured: Iterable<Configured>): WorkspaceConfig[] {
  return [...configured].flatMap((one) => ('config' in one ? [one.config] : []));
}

/**
 * The configured workspaces of a worker. Warns once about each invalid one.
 *
 * @throws `config_invalid` if `readAll` cannot read the settings.
 */
export function listForWorker(readAll: () => readonly Configured[], warn: (sentence: string) => void): WorkspaceList {
  let all = new Map<string, Configured>();
  const warned = new Set<string>();
  const warnOnce = (sentence: string): void => {
    if (!warned.has(sentence)) warn(sentence);
    warned.add(sentence);
  };
  const load = (): void => {
    const read = readAll();
    for (const one of read) if ('error' in one) warnOnce(`workspace ${one.name}: ${one.error.message}`);
    all = new Map(read.map((one) => [one.name, one]));
  };
  load();
  return {
    get count() {
      return all.size;
    },
    configs: () => validConfigs(all.values()),
    find: (workspace) => all.get(workspace),
    planned: () => validConfigs(all.values()).flatMap(plannedOf),
    read: () => {
      try {
        load();
      } catch (thrown) {
        warnOnce(`Cannot read the settings, so the earlier ones stay in use: ${toSightlineError(thrown).message}`);
      }
    },
  };
}

/**
 * Returns a function that gives the settings of the valid workspaces, and reloads them when the configuration file in `folder`
 * has changed. If the file is missing or invalid, the earlier settings stay in use.
 */
export function watchConfigs(
  folder: string,
  readAll: () => readonly Configured[],
  clock: Clock,
  log: JobLogger,
): () => ReadonlyMap<string, WorkspaceConfig> {
  const path = join(folder, CONFIG_FILE);
  const identity = (): string => {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? NO_FILE : `${stats.ino} ${stats.mtimeNs} ${stats.size}`;
  };
  let seen = identity();
  let checkedAt = clock.monotonic();
  const read = (): ReadonlyMap<string, WorkspaceConfig> => {
    const all = readAll();
    for (const one of all) {
      if (!('error' in one)) continue;
      const { code, message } = one.error;
      log('error', { workspace: one.name, code, msg: `the workspace is not served: ${message}` });
    }
    return new Map(validConfigs(all).map((config) => [config.name, config]));
  };
  let current = read();
  return () => {
    if (clock.monotonic() - checkedAt < CHECK_EVERY_MS) return current;
    checkedAt = clock.monotonic();
    try {
      const now = identity();
      if (now === seen) return current;
      seen = now;
      if (now === NO_FILE) throw new SightlineError('config_invalid', `${path} no longer exists`);
      current = read();
      const count = `${current.size} workspace${current.size === 1 ? '' : 's'}`;
      log('info', { msg: `the settings were reloaded: ${count}` });
    } catch (thrown) {
      log('error', { msg: 'the changed settings cannot be read; the earlier ones stay in use', err: thrown });
    }
    return current;
  };
}
