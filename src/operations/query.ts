import { createReadStream, existsSync } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { constrainedMemory } from 'node:process';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { withDiskNeed } from '../base/disk-need.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { checkReplaceable, ensureWritableFolder, publishByRename, syncToDisk } from '../base/files.ts';
import { agesOf, layoutOf } from '../publish/snapshot/layout.ts';
import { type RunningSync, readProgress } from '../sync/progress-file.ts';
import type { QueryResult } from '../warehouse/reader.ts';
import type { QueryLimits } from '../warehouse/sql/guarded-protocol.ts';
import { type GuardedSql, openGuardedSql } from '../warehouse/sql/guarded-sql.ts';
import { noData, openNewestReplicaWith, openReplicaWith } from '../workspace/newest-replica.ts';
import { checkNotOwnFile } from './own-files.ts';

const MEMORY_MB_MAX = 4_096;
const MEMORY_MB_LEAST = 512;

/** Limits for SQL of the files' owner, which only guard against mistakes. Callers over the network need narrower ones. */
export function ownerLimits(changes: Partial<QueryLimits> = {}): QueryLimits {
  // A container may have less memory than the machine. Without a limit the system reports 0, or more than the machine has.
  const machineMb = Math.min(totalmem(), constrainedMemory() || Number.POSITIVE_INFINITY) / 1024 ** 2;
  return {
    timeoutMs: 3_600_000,
    memoryMb: Math.floor(Math.max(MEMORY_MB_LEAST, Math.min(MEMORY_MB_MAX, machineMb / 2))),
    rowsMax: Number.MAX_SAFE_INTEGER,
    bytesMax: 256 * 1024 ** 2,
    ...changes,
  };
}

/** Options for SQL of the files' owner. */
export interface QueryOptions {
  readonly signal?: AbortSignal;
  readonly limits?: QueryLimits;
  /** Maximum number of statements that return rows. SQL with more is rejected before it runs. */
  readonly resultsMax?: number;
}

/**
 * Runs read-only SQL on a workspace's newest data, even while another process uses them. Returns the result of each statement.
 *
 * @throws the errors of `GuardedSql`, and the signal's reason when it is aborted.
 */
export async function queryWorkspace(
  config: WorkspaceConfig,
  sql: string,
  { signal, limits = ownerLimits(), resultsMax }: QueryOptions = {},
): Promise<QueryResult[]> {
  const open = (path: string): Promise<GuardedSql> => openGuardedSql(path, { audience: 'owner', limits });
  const { opened } = await openNewestReplicaWith(config, layoutOf(config.folder), open);
  return interruptible(opened, signal, () => opened.query(sql, resultsMax));
}

/**
 * Writes one query's rows to a Parquet file of flat columns by rename. Returns the number of rows. Throws like `queryWorkspace`.
 */
export async function saveQuery(
  config: WorkspaceConfig,
  sql: string,
  path: string,
  { signal, limits = ownerLimits() }: Omit<QueryOptions, 'resultsMax'> = {},
): Promise<number> {
  const target = resolve(path);
  const output = `${target}.${process.pid}.new`;
  await ensureWritableFolder(dirname(target));
  const open = (file: string): Promise<GuardedSql> => openGuardedSql(file, { audience: 'owner', limits, output });
  const { opened } = await openNewestReplicaWith(config, layoutOf(config.folder), open);
  try {
    const rows = await interruptible(opened, signal, () => opened.writeParquet(sql));
    await syncToDisk(output);
    await publishByRename(output, target);
    return rows;
  } finally {
    await rm(output, { force: true });
  }
}

/** Writes one query's rows as Parquet to a stream and leaves it open. Throws like `queryWorkspace`. */
export async function streamQuery(
  config: WorkspaceConfig,
  sql: string,
  output: Writable,
  options: Omit<QueryOptions, 'resultsMax'> = {},
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-sql-'));
  try {
    const file = join(folder, 'rows.parquet');
    await saveQuery(config, sql, file, options);
    await pipeline(createReadStream(file), output, { end: false });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Writes formatted rows to a file by rename. The last line ends with a line break. */
export async function saveText(path: string, text: string): Promise<void> {
  const target = resolve(path);
  const aside = `${target}.${process.pid}.new`;
  // The hint of the error is about the data folder.
  await ensureWritableFolder(dirname(target)).catch((reason: unknown) => {
    const { code, message } = toSightlineError(reason);
    throw new SightlineError(code, message, { hint: 'Choose a folder that this user may write to.', cause: reason });
  });
  const content = text.endsWith('\n') ? text : `${text}\n`;
  const need = {
    folder: dirname(target),
    bytes: Buffer.byteLength(content),
    by: `the file ${target}`,
    unchanged: 'the file is unchanged',
  };
  try {
    await withDiskNeed(need, async () => {
      await writeFile(aside, content);
      await syncToDisk(aside);
      await publishByRename(aside, target);
    });
  } finally {
    await rm(aside, { force: true });
  }
}

/** Throws `usage` if an output file is a folder or no file, or in the folder of the workspace. `option` is its name in the message. */
export async function checkOutputFile({ folder }: WorkspaceConfig, path: string, option: string): Promise<void> {
  if ((await stat(path).catch(() => null))?.isDirectory() === true) {
    throw new SightlineError('usage', `${option} ${path} is a folder; allowed: a new or existing file`);
  }
  await checkReplaceable(path);
  await checkNotOwnFile(folder, path, `${option} ${path}`);
}

/** The path of a workspace's replica. Throws `no_data` if there is none. */
export function replicaPathOf(config: WorkspaceConfig): string {
  const { analytics } = layoutOf(config.folder);
  if (existsSync(analytics)) return analytics;
  throw noData(config);
}

/** An open database for SQL, with the age of its data. */
export interface QuerySession {
  readonly sql: GuardedSql;
  /** Time of the last change to the data, epoch milliseconds. */
  readonly asOf: number;
  /** Whether the warehouse has newer data, which the next export or sync publishes. */
  readonly isBehind: boolean;
}

/**
 * Opens the replica for an interactive session, which would block syncs if it opened the warehouse.
 *
 * @throws `no_data` before the first replica is published.
 */
export async function openSession(config: WorkspaceConfig, limits = ownerLimits()): Promise<QuerySession> {
  const layout = layoutOf(config.folder);
  const sql = await openReplicaWith(config, layout, (path) => openGuardedSql(path, { audience: 'owner', limits }));
  const { copy, live } = agesOf(layout);
  return { sql, asOf: copy, isBehind: config.home === null && live > copy };
}

/** A running sync, and the time of the replica that readers get until it publishes the next one. */
export interface MidwayState {
  readonly running: RunningSync;
  /** Epoch milliseconds. */
  readonly asOf: number;
}

/** Reads the state of the sync that is running in a workspace; null if none is, or none has published a replica. */
export async function readMidway({ folder }: WorkspaceConfig): Promise<MidwayState | null> {
  const running = await readProgress(folder, systemClock.now());
  const asOf = agesOf(layoutOf(folder)).copy;
  return running === null || asOf === 0 ? null : { running, asOf };
}

async function interruptible<T>(sql: GuardedSql, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  const interrupt = (): void => sql.interrupt();
  signal?.addEventListener('abort', interrupt, { once: true });
  try {
    return await work();
  } catch (thrown) {
    signal?.throwIfAborted();
    throw thrown;
  } finally {
    signal?.removeEventListener('abort', interrupt);
    sql.close();
  }
}
