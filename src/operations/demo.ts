import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { ConfigSources } from '../base/config/config-file.ts';
import { loadConfig } from '../base/config/config.ts';
import { DEMO_WORKSPACE } from '../base/config/workspace-names.ts';
import { SightlineError } from '../base/errors.ts';
import { ensureWritableFolder } from '../base/files.ts';
import { gallery } from '../metrics/gallery/gallery.ts';
import type { SyncSummary } from '../sync/run-sync.ts';
import type { QueryResult } from '../warehouse/reader.ts';
import type { Context } from '../workspace/workspace.ts';
import { type Exported, exportWorkspace } from './export.ts';
import { queryWorkspace } from './query.ts';
import { type OnProgress, syncWorkspace } from './sync.ts';

/** Marks a folder that a demo created and the next demo may replace. */
const MARKER = '.demo';

/** Numbers of the queries of the gallery that a demo runs. Their results are short. */
const SHOWN: readonly number[] = [1, 8, 13];

/** Input of a demo. */
export interface DemoOptions {
  /** Data folder; null for the configured one. */
  readonly dataDir: string | null;
  /** The environment and the user's current directory. */
  readonly sources: Pick<ConfigSources, 'environment' | 'folder'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Starts a generated upstream. */
  startSandbox(): Promise<{ readonly baseUrl: string; readonly key: string; close(): Promise<unknown> }>;
  readonly onProgress: OnProgress;
  /** Runs with the finished demo while the sandbox still responds; default: nothing. */
  readonly use?: (demo: Demo, context: Context) => Promise<void>;
  /** Called before the sandbox and the sync start, and after the sync and the export. */
  onStage(stage: DemoStage): void;
}

/** A stage of a demo, with its result. */
export type DemoStage =
  | { readonly of: 'start' | 'sync' }
  | { readonly of: 'synced'; readonly summary: SyncSummary }
  | { readonly of: 'exported'; readonly snapshot: Exported };

/** Result of a demo. `answers` has the rows of each query. */
export interface Demo {
  readonly workspace: string;
  readonly folder: string;
  readonly snapshot: Exported;
  readonly answers: readonly { readonly title: string; readonly result: QueryResult }[];
}

/**
 * Copies a sandbox into a new warehouse, exports a snapshot and runs some queries of the gallery. Keeps the data and replaces those of an
 * earlier demo.
 *
 * @throws `usage` if the folder was not created by a demo.
 */
export async function runDemo(options: DemoOptions): Promise<Demo> {
  const { sources, clock, signal, onProgress, onStage } = options;
  const dataDir = options.dataDir === null ? {} : { dataDir: options.dataDir };
  const flags = { workspace: DEMO_WORKSPACE, ...dataDir };
  const environment = { SIGHTLINE_DATA_DIR: sources.environment['SIGHTLINE_DATA_DIR'] };
  await prepareFolder(loadConfig({ flags, environment, folder: sources.folder, isNew: true }).folder);
  onStage({ of: 'start' });
  const sandbox = await options.startSandbox();
  try {
    const config = loadConfig({
      flags: { ...flags, baseUrl: sandbox.baseUrl },
      environment: { ...environment, SIGHTLINE_API_KEY: sandbox.key },
      folder: sources.folder,
      isNew: true,
    });
    const context: Context = { config, clock, signal, command: 'demo' };
    onStage({ of: 'sync' });
    const summary = await syncWorkspace(context, { only: null, range: null, brands: null }, onProgress);
    if (signal.aborted)
      throw new SightlineError('interrupted', 'the demo was stopped; the next demo starts from the beginning');
    if (summary.error !== null) throw summary.error;
    onStage({ of: 'synced', summary });
    const snapshot = await exportWorkspace(context, () => undefined);
    onStage({ of: 'exported', snapshot });
    const answers: { title: string; result: QueryResult }[] = [];
    for (const { question, sql } of gallery().filter(({ number }) => SHOWN.includes(number))) {
      const [result] = await queryWorkspace(config, sql);
      answers.push({ title: question, result: result as QueryResult });
    }
    const demo = { workspace: DEMO_WORKSPACE, folder: config.folder, snapshot, answers };
    await options.use?.(demo, context);
    return demo;
  } finally {
    await sandbox.close();
  }
}

async function prepareFolder(folder: string): Promise<void> {
  if (existsSync(folder) && !existsSync(join(folder, MARKER))) {
    throw new SightlineError('usage', `${folder} was not created by a demo; choose another folder with --data-dir`);
  }
  await rm(folder, { recursive: true, force: true });
  await ensureWritableFolder(folder);
  await writeFile(join(folder, MARKER), 'Created by `sightline demo`, which replaces this folder.\n');
}
