import { createHash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { SightlineError } from '../../base/errors.ts';
import { takeLock } from '../../base/file-lock.ts';
import { ensureWritableFolder, publishByRename, syncToDisk } from '../../base/files.ts';
import { isAlive } from '../../base/process-alive.ts';

/** File with the position; the other files of the folder are the states of tables. */
const POSITION = 'position.json';
const LOCK = 'position.lock';
/** Name of a state that a process writes: table, number of the position, process id. */
const STATE = /\.\d+-(\d+)\.parquet$/;
/** Name of a position that a process writes: process id. */
const ASIDE = /^position\.json\.(\d+)$/;
const NAME_DIGITS = 32;

const schema = z.object({
  format: z.literal(1),
  name: z.string(),
  number: z.int().min(1),
  at: z.iso.datetime(),
  tables: z.record(z.string(), z.string()),
});

/** What the exports of one name have written so far. */
export interface Position {
  /** 1 for the first export of the name, then counted up. */
  readonly number: number;
  /** Time of the export, ISO 8601. */
  readonly at: string;
  /** Name of the file with the state of each table that was ever exported. */
  readonly tables: Readonly<Record<string, string>>;
}

/** The position of the exports of one name. */
export interface PositionStore {
  readonly folder: string;
  /** The position that the next export continues; null before the first. */
  readonly current: Position | null;
  /** Number of the next position. */
  readonly number: number;
  /** Returns the name of the file for the new state of a table. */
  stateFile(table: string): string;
  /**
   * Runs `publish`, which makes the exported files visible, and then moves the position. If the process is killed in between, the
   * next export repeats the changes.
   *
   * @throws `warehouse_locked` if another export has moved the position meanwhile; nothing is published then
   */
  advance(at: string, tables: Readonly<Record<string, string>>, publish: () => Promise<void>): Promise<void>;
}

/**
 * Opens the position of an export in the workspace's folder `positions`.
 *
 * @throws `config_invalid` if the stored position is damaged
 */
export async function openPosition(positions: string, name: string): Promise<PositionStore> {
  const folder = join(positions, createHash('sha256').update(name).digest('hex').slice(0, NAME_DIGITS));
  await ensureWritableFolder(folder);
  const current = await readPosition(folder, name);
  const number = (current?.number ?? 0) + 1;
  await removeUnused(folder, current);
  const advance: PositionStore['advance'] = async (at, tables, publish) => {
    const position = { number, at, tables: { ...current?.tables, ...tables } };
    for (const file of Object.values(tables)) await syncToDisk(join(folder, file));
    const lock = await takeLock(join(folder, LOCK), `moves the position of the export ${JSON.stringify(name)}`);
    try {
      if ((await readPosition(folder, name))?.number !== current?.number) throw moved(name);
      await publish();
      const aside = join(folder, `${POSITION}.${process.pid}`);
      await writeFile(aside, `${JSON.stringify({ format: 1, name, ...position }, null, 2)}\n`);
      await syncToDisk(aside);
      await publishByRename(aside, join(folder, POSITION));
    } finally {
      await lock.release();
    }
    await removeUnused(folder, position);
  };
  return { folder, current, number, stateFile: (table) => `${table}.${number}-${process.pid}.parquet`, advance };
}

async function readPosition(folder: string, name: string): Promise<Position | null> {
  const path = join(folder, POSITION);
  const text = await readFile(path, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return null;
    throw thrown;
  });
  if (text === null) return null;
  try {
    const { number, at, tables } = schema.parse(JSON.parse(text));
    return { number, at, tables };
  } catch (cause) {
    const message = `the position of the export ${JSON.stringify(name)} in ${path} is damaged`;
    const hint = `Delete ${folder}. The next export of this name then writes all rows as inserts.`;
    throw new SightlineError('config_invalid', message, { cause, hint });
  }
}

// Removes states that the position does not name, and unfinished positions, except those that a running process writes.
async function removeUnused(folder: string, position: Position | null): Promise<void> {
  const used = new Set(Object.values(position?.tables ?? {}));
  for (const file of await readdir(folder)) {
    const writer = Number(ASIDE.exec(file)?.[1] ?? process.pid);
    if (writer !== process.pid && !isAlive(writer)) await rm(join(folder, file), { force: true });
    const pid = Number(STATE.exec(file)?.[1] ?? 0);
    if (pid === 0 || used.has(file) || (pid !== process.pid && isAlive(pid))) continue;
    await rm(join(folder, file), { force: true });
  }
}

function moved(name: string): SightlineError {
  const message = `another export has moved the position of ${JSON.stringify(name)} meanwhile; nothing was written`;
  return new SightlineError('warehouse_locked', message, { hint: 'Run the command again.' });
}
