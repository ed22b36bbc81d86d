import { createHash } from 'node:crypto';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SightlineError } from '../../base/errors.ts';
import type { Session } from '../../warehouse/database.ts';
import { literal, quoted } from '../../warehouse/schema.ts';
import type { HomeFile, HomeResults, HomeState, HomeWork } from './home-protocol.ts';
import { type Attachment, tableAt } from './kinds.ts';
import { DESTINATION } from './own-sql.ts';

/** Table with one row per workspace: the lease and the last save. */
const HOMES = '_sightline_homes';
/** Table with the blocks of the files of all workspaces. */
const BLOCKS = '_sightline_blocks';
/** A DuckDB file has headers of this size, then blocks of that size, which a checkpoint leaves as they are unless their rows change. */
const HEADER_BYTES = 3 * 4096;
const BLOCK_BYTES = 262_144;
/** Blocks that are read or written by one statement. */
const BLOCKS_AT_ONCE = 64;

/** A block of a file of this machine. */
interface Block {
  readonly file: string;
  /** From 0: the headers. */
  readonly number: number;
  readonly sha256: string;
}

/**
 * Works on the home of a workspace in one transaction. Nothing may write to the files of a save until `onStaged` is called.
 */
export async function workOnHome(
  session: Session,
  { schema, hasKeys }: Attachment,
  { workspace, work, temporary }: { readonly workspace: string; readonly work: HomeWork; readonly temporary: string },
  onStaged: () => Promise<void>,
): Promise<HomeResults[keyof HomeResults]> {
  const homes = tableAt(schema, HOMES);
  const blocks = tableAt(schema, BLOCKS);
  const key = (...columns: readonly string[]): string => (hasKeys ? `, PRIMARY KEY (${columns.join(', ')})` : '');
  await session.run('BEGIN TRANSACTION');
  try {
    if (schema !== 'main') await session.run(`CREATE SCHEMA IF NOT EXISTS ${DESTINATION}.${quoted(schema)}`);
    await session.run(
      `CREATE TABLE IF NOT EXISTS ${homes} (workspace VARCHAR, position BIGINT, saved_at VARCHAR, bytes BIGINT,
         holder VARCHAR, task VARCHAR, until VARCHAR${key('workspace')})`,
    );
    await session.run(
      `CREATE TABLE IF NOT EXISTS ${blocks} (workspace VARCHAR, file VARCHAR, number BIGINT, sha256 VARCHAR, data BLOB${key('workspace', 'file', 'number')})`,
    );
    const home = { session, homes, blocks, workspace, temporary };
    const states = await readStates(home);
    const result = await workWithin(home, states, work, onStaged);
    await session.run('COMMIT');
    return result;
  } catch (thrown) {
    await session.run('ROLLBACK').catch(() => undefined);
    throw thrown;
  }
}

interface OpenHome {
  readonly session: Session;
  /** SQL of the tables. */
  readonly homes: string;
  readonly blocks: string;
  readonly workspace: string;
  readonly temporary: string;
}

async function workWithin(
  home: OpenHome,
  states: readonly HomeState[],
  work: HomeWork,
  onStaged: () => Promise<void>,
): Promise<HomeResults[keyof HomeResults]> {
  const before = states.find(({ workspace }) => workspace === home.workspace) ?? null;
  switch (work.do) {
    case 'state':
      return states;
    case 'take': {
      const { holder, task, now, until, above } = work;
      const lease = before?.lease ?? null;
      const isFree = lease === null || Date.parse(lease.until) <= now || (task !== null && lease.task === task);
      if (!isFree) return { taken: lease };
      const position = Math.max(before?.position ?? 0, above) + 1;
      const empty = { workspace: home.workspace, savedAt: null, bytes: 0 };
      await writeState(home, { ...(before ?? empty), position, lease: { holder, task, until: iso(until) } });
      return { position, before };
    }
    case 'save': {
      if (before === null || before.position !== work.position) return null;
      const { files, now, until } = work;
      const lease = until === null || before.lease === null ? null : { ...before.lease, until: iso(until) };
      const earliest = before.savedAt === null ? 0 : Date.parse(before.savedAt) + 1;
      const savedAt = files === null ? before.savedAt : iso(Math.max(now, earliest));
      const bytes = files === null ? before.bytes : await saveFiles(home, files, onStaged);
      await writeState(home, { ...before, savedAt, bytes, lease });
      return { savedAt };
    }
    case 'fetch':
      if (before?.savedAt == null) return null;
      await fetchFiles(home, work);
      return before;
  }
}

async function readStates({ session, homes }: OpenHome): Promise<HomeState[]> {
  const rows = await session.query(
    `SELECT workspace, position, saved_at, bytes, holder, task, until FROM ${homes} ORDER BY workspace`,
  );
  return rows.map(([workspace, position, savedAt, bytes, holder, task, until]) => ({
    workspace: String(workspace),
    position: Number(position),
    savedAt: isTime(String(savedAt)) ? String(savedAt) : null,
    bytes: Number(bytes),
    lease:
      holder === null || !isTime(String(until))
        ? null
        : { holder: String(holder), task: task as string | null, until: String(until) },
  }));
}

// Every writer deletes the row of the workspace, so of two at the same time one fails.
async function writeState({ session, homes }: OpenHome, state: HomeState): Promise<void> {
  const { workspace, position, savedAt, bytes, lease } = state;
  const values = [workspace, position, savedAt, bytes, lease?.holder, lease?.task, lease?.until];
  const listed = values.map((value) => (value == null ? 'NULL' : typeof value === 'number' ? value : literal(value)));
  await session.run(`DELETE FROM ${homes} WHERE workspace = ${literal(workspace)}`);
  await session.run(`INSERT INTO ${homes} VALUES (${listed.join(', ')})`);
}

// Writes the blocks that differ. Returns the size of all files.
async function saveFiles(
  { session, blocks, workspace, temporary }: OpenHome,
  files: readonly HomeFile[],
  onStaged: () => Promise<void>,
): Promise<number> {
  const own = `workspace = ${literal(workspace)}`;
  const rows = await session.query(`SELECT file, number, sha256 FROM ${blocks} WHERE ${own}`);
  const known = new Map(rows.map(([file, number, sha256]) => [nameOf(String(file), Number(number)), String(sha256)]));
  const staged: Block[] = [];
  let bytes = 0;
  await mkdir(temporary, { recursive: true });
  for (const { name, path } of files) {
    for await (const { number, data } of readBlocks(path)) {
      const block = { file: name, number, sha256: createHash('sha256').update(data).digest('hex') };
      const id = nameOf(name, number);
      bytes += data.length;
      if (known.get(id) === block.sha256) {
        known.delete(id);
        continue;
      }
      await writeFile(join(temporary, `${staged.length}`), data);
      staged.push(block);
    }
  }
  await onStaged();
  // What is left is gone or has changed.
  const gone = rows.filter(([file, number]) => known.has(nameOf(String(file), Number(number))));
  for (const file of new Set(gone.map(([name]) => String(name)))) {
    const numbers = gone.filter(([name]) => name === file).map(([, number]) => Number(number));
    await session.run(
      `DELETE FROM ${blocks} WHERE ${own} AND file = ${literal(file)} AND number IN (${numbers.join(', ')})`,
    );
  }
  for (let from = 0; from < staged.length; from += BLOCKS_AT_ONCE) {
    const selects = staged.slice(from, from + BLOCKS_AT_ONCE).map(({ file, number, sha256 }, index) => {
      const path = literal(join(temporary, `${from + index}`));
      return `SELECT ${literal(workspace)}, ${literal(file)}, ${number}, ${literal(sha256)}, content FROM read_blob(${path})`;
    });
    await session.run(`INSERT INTO ${blocks} ${selects.join(' UNION ALL ')}`);
  }
  return bytes;
}

async function* readBlocks(path: string): AsyncGenerator<{ readonly number: number; readonly data: Buffer }> {
  const handle = await open(path, 'r').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return null;
    throw thrown;
  });
  if (handle === null) return;
  try {
    const buffer = Buffer.alloc(BLOCK_BYTES);
    for (let number = 0, at = 0; ; number++) {
      const wanted = number === 0 ? HEADER_BYTES : BLOCK_BYTES;
      const { bytesRead } = await handle.read(buffer, 0, wanted, at);
      if (bytesRead === 0 && number > 0) return;
      yield { number, data: buffer.subarray(0, bytesRead) };
      at += bytesRead;
      if (bytesRead < wanted) return;
    }
  } finally {
    await handle.close();
  }
}

async function fetchFiles(
  { session, blocks, workspace }: OpenHome,
  { folder, names }: Extract<HomeWork, { do: 'fetch' }>,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const own = `workspace = ${literal(workspace)}`;
  const files = await session.query(`SELECT file, count(*) FROM ${blocks} WHERE ${own} GROUP BY file ORDER BY file`);
  // Others can write to the destination: a name must not lead out of the folder.
  for (const [file, count] of files.filter(([name]) => names.includes(String(name)))) {
    const handle = await open(join(folder, String(file)), 'w');
    try {
      for (let from = 0; from < Number(count); from += BLOCKS_AT_ONCE) {
        const rows = await session.query(
          `SELECT number, sha256, data FROM ${blocks} WHERE ${own} AND file = ${literal(String(file))}
             AND number BETWEEN ${from} AND ${from + BLOCKS_AT_ONCE - 1} ORDER BY number`,
        );
        for (const [index, [number, sha256, data]] of rows.entries()) {
          // The driver's value of a BLOB.
          const { bytes } = data as { readonly bytes: Uint8Array };
          const isIntact =
            Number(number) === from + index && createHash('sha256').update(bytes).digest('hex') === sha256;
          if (!isIntact) throw damaged(workspace, String(file), from + index);
          await handle.writeFile(bytes);
        }
        if (rows.length !== Math.min(BLOCKS_AT_ONCE, Number(count) - from))
          throw damaged(workspace, String(file), from);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

function damaged(workspace: string, file: string, number: number): SightlineError {
  return new SightlineError(
    'destination_failed',
    `block ${number} of ${file} of workspace ${workspace} is damaged or missing in the destination`,
  );
}

function isTime(text: string): boolean {
  return !Number.isNaN(Date.parse(text));
}

function nameOf(file: string, number: number): string {
  return `${file} ${number}`;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
