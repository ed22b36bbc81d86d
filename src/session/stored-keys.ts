import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { SightlineError } from '../base/errors.ts';
import { type Lock, takeLock } from '../base/file-lock.ts';
import { ensureWritableFolder, publishByRename } from '../base/files.ts';
import { quotedArgument } from '../base/visible.ts';

/**
 * A change takes milliseconds. A lock of this age belongs to a dead process, even if its process id is in use again.
 */

const secretBytes = 32;
const base64url256 = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
const hashSchema = z.string().regex(/^[0-9a-f]{64}$/);
const keySchema = z.strictObject({
  id: z.guid(),
  name: z.string().min(1),
  prefix: z.string(),
  hash: hashSchema,
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
});
const fileSchema = z.strictObject({
  version: z.literal(1),
  cursorSecret: base64url256,
  keys: z.array(keySchema),
  /** Hashes of revoked keys, oldest first. */
  revoked: z.array(hashSchema).optional(),
});

/** Contents of the key file. Keys are stored only as hashes. */
export type KeyFile = z.infer<typeof fileSchema>;

/** A stored key: its SHA-256 in hex, never its text. */
export type StoredKey = KeyFile['keys'][number];

/** Returns the path of a workspace's key file. */
export function keyFilePath(folder: string): string {
  return join(folder, 'keys.json');
}

/**
 * Reads a workspace's key file; null if it does not exist.
 *
 * @throws SightlineError `config_invalid` if the file is damaged or cannot be read
 */
export function readKeyFile(folder: string): KeyFile | null {
  const path = keyFilePath(folder);
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
    throw damaged(path, 'it is not JSON');
  }
  const parsed = fileSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw damaged(path, `${issue?.path.join('.') || 'its content'} is invalid`);
}

/**
 * Changes a workspace's keys atomically across processes: `after` replaces the file by rename, and null leaves it
 * unchanged.
 *
 * @throws SightlineError `warehouse_locked` if another process keeps the lock; also whatever `change` throws
 */
export async function changeKeyFile<T>(
  folder: string,
  change: (before: KeyFile) => { readonly after: KeyFile | null; readonly result: T },
): Promise<T> {
  await ensureWritableFolder(folder);
  const lock = await takeLock(`${keyFilePath(folder)}.lock`, 'is changing the keys');
  try {
    const before = readKeyFile(folder);
    const { after, result } = change(before ?? emptyFile());
    if (after !== null) await write(folder, after, lock);
    return result;
  } finally {
    await lock.release();
  }
}

function emptyFile(): KeyFile {
  return { version: 1, cursorSecret: randomBytes(secretBytes).toString('base64url'), keys: [] };
}

async function write(folder: string, content: KeyFile, lock: Lock): Promise<void> {
  const path = keyFilePath(folder);
  const aside = `${path}.${randomUUID()}`;
  try {
    const handle = await open(aside, 'wx', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(content, null, 2)}\n`);
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

function damaged(path: string, what: string): SightlineError {
  const file = quotedArgument(path);
  const advice = `run \`mv ${file} ${file}.damaged\`, then create new keys with \`sightline keys create NAME\``;
  return new SightlineError('config_invalid', `${path} is damaged: ${what}; ${advice}`);
}
