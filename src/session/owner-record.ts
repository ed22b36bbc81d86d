import { constants, type Stats } from 'node:fs';
import { chmod, lstat, open, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SightlineError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';

/** Larger owner records are not read. */
const RECORD_BYTES_MAX = 16_384;
const GROUP_OR_OTHERS = 0o077;
const GROUP_OR_OTHERS_WRITE = 0o022;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/** The owner of a workspace, as `serving.json` records it. The file holds the secret of the socket, so it is 0600. */
export interface OwnerRecord {
  /** Distinguishes records with the same socket path. */
  readonly id: string;
  readonly pid: number;
  /** Without the program's name. */
  readonly command: string;
  readonly since: string;
  readonly version: string;
  readonly socket: string;
  /** Device and inode of the workspace folder: a copied folder has another. */
  readonly folderId: string;
  /** Both sides of a connection prove that they know it. */
  readonly secret: string;
}

/** Path of the owner record of a workspace, which names the process that owns the workspace and its socket. */
export function ownerRecordPath(folder: string): string {
  return join(folder, 'serving.json');
}

/** Device and inode of a folder. */
export async function folderIdOf(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  return `${dev}:${ino}`;
}

/**
 * Reads the owner record of a workspace; null if there is none, if it is damaged, or if it was copied here with another folder. Throws
 * `owner_untrusted` if another user owns or can change the file, the socket or a folder that they lie in.
 */
export async function readOwnerRecord(folder: string): Promise<OwnerRecord | null> {
  const text = await readPrivateFile(ownerRecordPath(folder));
  const record = text === null ? null : parseOwnerRecord(text);
  if (record === null || record.folderId !== (await folderIdOf(folder))) return null;
  await checkFolders(folder);
  const socketFolder = dirname(record.socket);
  if (socketFolder !== folder) await checkFolders(socketFolder);
  const socket = await lstat(record.socket).catch(() => null);
  if (socket?.isSocket() === false) throw untrusted(`${record.socket} is not a socket`);
  if (socket !== null) checkPrivate(record.socket, socket);
  return record;
}

/** Parses the text of an owner record; null if it is damaged or was written by an older version. */
export function parseOwnerRecord(text: string): OwnerRecord | null {
  let record: unknown;
  try {
    record = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(record) || typeof record['pid'] !== 'number') return null;
  const texts = ['id', 'command', 'since', 'version', 'socket', 'folderId', 'secret'];
  return texts.every((name) => typeof record[name] === 'string') ? (record as unknown as OwnerRecord) : null;
}

/** Removes the write permission of group and others from a folder, if this user may change it. */
export async function removeSharedWriting(folder: string): Promise<void> {
  const { mode } = await stat(folder);
  if ((mode & GROUP_OR_OTHERS_WRITE) === 0) return;
  await chmod(folder, mode & 0o7777 & ~GROUP_OR_OTHERS_WRITE).catch(() => undefined);
}

/** Checks that no other user can replace files in a folder, or the folder itself. Throws `owner_untrusted`. */
export async function checkFolders(folder: string): Promise<void> {
  const me = process.geteuid?.();
  if (me === undefined) return;
  const { uid, mode } = await stat(folder);
  if (me !== 0 && uid !== me && uid !== 0) {
    throw untrusted(`the folder ${folder} belongs to user ${uid}; allowed: user ${me}, who runs this command, or root`);
  }
  if ((mode & GROUP_OR_OTHERS_WRITE) !== 0) throw writable(folder, mode, 'chmod go-w');
  for (let above = dirname(folder); above !== dirname(above); above = dirname(above)) {
    const parent = await stat(above);
    if ((parent.mode & OTHERS_WRITE) !== 0 && (parent.mode & STICKY) === 0) {
      throw writable(above, parent.mode, 'chmod o-w');
    }
  }
}

// The checks are of the opened file, so that it cannot be exchanged after them.
async function readPrivateFile(path: string): Promise<string | null> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    // A path that is too long has no file; the command reports it when it writes to the folder.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG') return null;
    if (code === 'ELOOP') throw untrusted(`${path} is a symbolic link; allowed: a file`);
    const there = await lstat(path).catch(() => null);
    if (code === 'EACCES' && there !== null) checkPrivate(path, there);
    throw thrown;
  }
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw untrusted(`${path} is not a file`);
    checkPrivate(path, stats);
    return stats.size > RECORD_BYTES_MAX ? null : await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

function checkPrivate(path: string, { uid, mode }: Stats): void {
  const me = process.geteuid?.();
  if (me === undefined) return;
  if (uid !== me) {
    throw untrusted(`${path} belongs to user ${uid}; allowed: user ${me}, who runs this command`);
  }
  if ((mode & GROUP_OR_OTHERS) !== 0) throw untrusted(`${path} has permissions ${octal(mode)}; allowed: 0600`);
}

function writable(folder: string, mode: number, remedy: string): SightlineError {
  const what = `the folder ${folder} has permissions ${octal(mode)}, so other users can replace its files`;
  return untrusted(`${what}; run \`${remedy} ${folder}\``);
}

/** Formats permissions for chmod, such as 0755. */
export function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}

/** The error of a workspace whose owner may be another user's process. */
export function untrusted(message: string): SightlineError {
  return new SightlineError('owner_untrusted', message);
}
