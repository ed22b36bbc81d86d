import { createHash, randomUUID } from 'node:crypto';
import { lstat, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suggestion } from '../../base/choose-name.ts';
import { SightlineError } from '../../base/errors.ts';
import { takeLock } from '../../base/file-lock.ts';
import { ensureWritableFolder, publishByRename, syncToDisk } from '../../base/files.ts';
import type { SavedQuery, SavedQueryText } from '../../web/page-data/sql-data.ts';

/** Size of a saved query, in bytes. */
export const QUERY_BYTES_MAX = 100_000;
const QUERIES_MAX = 500;
const TITLE_CHARACTERS_MAX = 200;
const ENDING = '.sql';
const LOCK = '.lock';
/** Lower case only, because some file systems ignore the case of names. */
const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
/** Names of devices, which Windows does not accept as names of files. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)$/;

/** Condition of a change: an ETag that the query must have, or `new` if it must not exist. */
export type SavedCondition = string | 'new';

/** Saved queries of a workspace: plain SQL files in one folder, which other programs may change too. */
export interface SavedQueries {
  /** Returns all queries by name. Other files of the folder are ignored. */
  list(): Promise<SavedQuery[]>;
  /** @throws `not_found` with the nearest name */
  read(name: string): Promise<SavedQueryText>;
  /** @throws `changed_meanwhile`, `invalid_parameter` for a wrong name, an empty or too large text, or too many queries */
  write(name: string, sql: string, condition: SavedCondition): Promise<SavedQuery>;
  /** @throws `not_found`, `changed_meanwhile`, also if `to` exists */
  rename(name: string, to: string, condition: string): Promise<SavedQuery>;
  /** @throws `not_found`, `changed_meanwhile` */
  remove(name: string, condition: string): Promise<void>;
}

/** Opens the saved queries of a folder, which is created when the first one is written. */
export function openSavedQueries(folder: string): SavedQueries {
  const files = createFiles(folder);
  const { find, names, locked } = files;
  const read: SavedQueries['read'] = async (name) => {
    const found = await find(name);
    if (found !== null) return found;
    throw new SightlineError('not_found', `there is no saved query ${name}${suggestion(name, await names())}`);
  };
  const check = async (name: string, condition: string): Promise<string> => {
    const found = await read(name);
    if (condition === '*' || found.etag === condition) return found.sql;
    throw new SightlineError('changed_meanwhile', `the saved query ${name} was changed since it was read`);
  };
  const put = async (name: string, sql: string): Promise<SavedQuery> => {
    await files.put(name, sql);
    return withoutSql(await read(name));
  };
  const checkNew = async (name: string): Promise<void> => {
    if (await files.exists(name)) {
      throw new SightlineError('changed_meanwhile', `a saved query ${name} already exists`);
    }
    if ((await names()).length >= QUERIES_MAX) {
      throw invalid(`there are ${QUERIES_MAX} saved queries; allowed: ${QUERIES_MAX}`);
    }
  };
  return {
    list: async () => {
      const all = await Promise.all((await names()).map(find));
      return all.flatMap((found) => (found === null ? [] : [withoutSql(found)]));
    },
    read,
    write: async (name, sql, condition) => {
      checkText(checked(name), sql);
      return locked(async () => {
        if (condition === 'new') await checkNew(name);
        else await check(name, condition);
        return put(name, sql);
      });
    },
    rename: async (name, to, condition) => {
      checked(to);
      return locked(async () => {
        const sql = await check(name, condition);
        await checkNew(to);
        const saved = await put(to, sql);
        await files.remove(name);
        return saved;
      });
    },
    remove: (name, condition) =>
      locked(async () => {
        await check(name, condition);
        await files.remove(name);
      }),
  };
}

// The files of a folder, read and changed without conditions.
function createFiles(folder: string) {
  const pathOf = (name: string): string => join(folder, `${checked(name)}${ENDING}`);
  const find = async (name: string) => {
    const path = pathOf(name);
    // Not a link, which could lead to any file of the machine.
    const found = await lstat(path).catch(() => null);
    if (found?.isFile() !== true || found.size > QUERY_BYTES_MAX) return null;
    const sql = await readFile(path, 'utf8');
    return { name, title: titleOf(sql), etag: etagOf(sql), changedAt: found.mtime.toISOString(), sql };
  };
  const names = async (): Promise<string[]> => {
    const files = await readdir(folder).catch(() => []);
    return files
      .filter((file) => file.endsWith(ENDING) && isName(file.slice(0, -ENDING.length)))
      .map((file) => file.slice(0, -ENDING.length))
      .sort();
  };
  const locked = async <T>(work: () => Promise<T>): Promise<T> => {
    await ensureWritableFolder(folder);
    const lock = await takeLock(join(folder, LOCK), 'changes the saved queries');
    try {
      return await work();
    } finally {
      await lock.release();
    }
  };
  const put = async (name: string, sql: string): Promise<void> => {
    const aside = join(folder, `.${randomUUID()}.new`);
    try {
      await writeFile(aside, sql, { flag: 'wx' });
      await syncToDisk(aside);
      await publishByRename(aside, pathOf(name));
    } finally {
      await rm(aside, { force: true });
    }
  };
  const remove = async (name: string): Promise<void> => {
    await rm(pathOf(name));
    await syncToDisk(folder);
  };
  const exists = async (name: string): Promise<boolean> => (await lstat(pathOf(name)).catch(() => null)) !== null;
  return { find, names, locked, put, remove, exists };
}

function withoutSql({ sql: _, ...saved }: SavedQuery & { readonly sql: string }): SavedQuery {
  return saved;
}

function isName(name: string): boolean {
  return NAME.test(name) && !DEVICE.test(name);
}

function checked(name: string): string {
  if (isName(name)) return name;
  const allowed = 'lower-case letters, digits, - and _, at most 64, not the name of a device';
  throw invalid(`the name of a saved query is ${JSON.stringify(name.slice(0, 80))}; allowed: ${allowed}`);
}

function checkText(name: string, sql: string): void {
  const bytes = Buffer.byteLength(sql);
  if (sql.trim() === '') throw invalid(`the saved query ${name} is empty; allowed: SQL`);
  if (bytes > QUERY_BYTES_MAX) {
    throw invalid(`the saved query ${name} has ${bytes} bytes; allowed: ${QUERY_BYTES_MAX}`);
  }
}

function titleOf(sql: string): string | null {
  const title = /^\s*--+[ \t]*(.*)/.exec(sql)?.[1]?.trim() ?? '';
  return title === '' ? null : title.slice(0, TITLE_CHARACTERS_MAX);
}

function etagOf(sql: string): string {
  return createHash('sha256').update(sql).digest('hex').slice(0, 32);
}

function invalid(message: string): SightlineError {
  return new SightlineError('invalid_parameter', message);
}
