import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { systemClock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config.ts';
import { ensureWritableFolder, publishByRename, syncToDisk } from '../base/files.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { openReader, type QueryResult, type Reader } from '../warehouse/reader.ts';
import { refreshCopy } from './home.ts';
import { agesOf, noData, openNewest } from './workspace.ts';

/**
 * Runs SQL on a workspace's newest data, read-only, whoever else has them open. Throws `sql_invalid` with DuckDB's
 * message, the signal's reason when it is aborted.
 */
export async function queryWorkspace(config: WorkspaceConfig, sql: string, signal?: AbortSignal): Promise<QueryResult> {
  const { reader } = await openNewest(config, layoutOf(config.folder));
  return interruptible(reader, signal, () => reader.query(sql));
}

/**
 * Writes one query's rows to a Parquet file of flat columns, aside and then in place; returns how many there were.
 * Throws as `queryWorkspace` does.
 */
export async function saveQuery(
  config: WorkspaceConfig,
  sql: string,
  path: string,
  signal?: AbortSignal,
): Promise<number> {
  const whole = resolve(path);
  const aside = `${whole}.${process.pid}.new`;
  await ensureWritableFolder(resolve(whole, '..'));
  const { reader } = await openNewest(config, layoutOf(config.folder), { output: aside });
  try {
    const rows = await interruptible(reader, signal, () => reader.writeParquet(sql));
    await syncToDisk(aside);
    await publishByRename(aside, whole);
    return rows;
  } finally {
    await rm(aside, { force: true });
  }
}

/** A reader that stays open, and of when its data are. */
export interface QuerySession {
  readonly reader: Reader;
  /** When the data changed last, epoch milliseconds. */
  readonly asOf: number;
  /** Whether the warehouse holds more, which the next export or sync publishes. */
  readonly isBehind: boolean;
}

/**
 * Opens the analysts' copy for as long as somebody types: whoever holds the warehouse itself keeps syncs out. Throws
 * `no_data` where there is no copy yet.
 */
export async function openSession(config: WorkspaceConfig): Promise<QuerySession> {
  const layout = layoutOf(config.folder);
  const isAway = config.home.kind !== 'local';
  // Where the home does not answer, what is here is better than nothing.
  await refreshCopy({ config, clock: systemClock }).catch(() => undefined);
  const { copy, live } = agesOf(layout);
  if (copy === 0) throw noData(config);
  return { reader: await openReader(layout.analytics), asOf: copy, isBehind: !isAway && live > copy };
}

async function interruptible<T>(reader: Reader, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  const interrupt = (): void => reader.interrupt();
  signal?.addEventListener('abort', interrupt, { once: true });
  try {
    return await work();
  } catch (thrown) {
    signal?.throwIfAborted();
    throw thrown;
  } finally {
    signal?.removeEventListener('abort', interrupt);
    reader.close();
  }
}
