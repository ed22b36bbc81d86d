import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { SightlineError } from '../base/errors.ts';
import { type Lock, takeLock } from '../base/file-lock.ts';
import { ensureWritableFolder, publishByRename } from '../base/files.ts';

/** A JSON file that only its owner can read (0600), and that several processes change. */
export interface PrivateFile<T> {
  readonly path: string;
  readonly schema: z.ZodType<T>;
  /** Action of the process that has the lock, for messages to other processes, such as "is changing the keys". */
  readonly work: string;
  /** Returns the content of a new file. */
  create(): T;
  /** Returns the next step if the file is damaged; null replaces a damaged file by a new one. */
  readonly advice: string | null;
}

/**
 * Reads a private file; null if it does not exist.
 *
 * @throws SightlineError `config_invalid` if the file is damaged or cannot be read
 */
export function readPrivateFile<T>({ path, schema, advice }: PrivateFile<T>): T | null {
  const damaged = (what: string): SightlineError =>
    new SightlineError('config_invalid', `${path} is damaged: ${what}${advice === null ? '' : `; ${advice}`}`);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new SightlineError('config_invalid', `cannot read ${path} (${code})`, { cause: thrown });
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw damaged('it is not JSON');
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw damaged(`${issue?.path.join('.') || 'its content'} is invalid`);
}

/**
 * Changes a private file atomically across processes: `after` replaces the file by rename, and null leaves it unchanged.
 *
 * @throws SightlineError `warehouse_locked` if another process keeps the lock; also whatever `change` throws
 */
export async function changePrivateFile<T, R>(
  file: PrivateFile<T>,
  change: (before: T) => { readonly after: T | null; readonly result: R },
): Promise<R> {
  await ensureWritableFolder(dirname(file.path));
  const lock = await takeLock(`${file.path}.lock`, file.work);
  try {
    const { after, result } = change(readOrReplace(file) ?? file.create());
    if (after !== null) await write(file.path, `${JSON.stringify(after, null, 2)}\n`, lock);
    return result;
  } finally {
    await lock.release();
  }
}

function readOrReplace<T>(file: PrivateFile<T>): T | null {
  try {
    return readPrivateFile(file);
  } catch (thrown) {
    if (file.advice !== null) throw thrown;
    return null;
  }
}

async function write(path: string, text: string, lock: Lock): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    const handle = await open(aside, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (!(await lock.isHeld()))
      throw new SightlineError('warehouse_locked', 'another process took over the lock; try again');
    await publishByRename(aside, path);
  } catch (thrown) {
    await rm(aside, { force: true });
    throw thrown;
  }
}
