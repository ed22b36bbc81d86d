import { execFileSync } from 'node:child_process';
import { readdirSync, readlinkSync, statfsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './folders.ts';

/** Commands of the operating system, usually only for root. Without them the tests are skipped with a message. */
const tools = { mount: 'mount', unmount: 'umount' } as const;

/** Attempts to unmount, and the time between them. */
const TRIES_MAX = 300;
const PAUSE_MS = 100;

/** A small file system in memory, which is removed when the test ends. */
export interface SmallDisk {
  readonly folder: string;
  /** Leaves this many bytes free. Does not write, so it works while another process uses the disk. */
  leave(freeBytes: number): void;
  /** Makes it read-only, or writable again. */
  remount(mode: 'ro' | 'rw'): void;
}

/** Mounts a file system of `bytes`. Prints NOT TRIED and returns null if the machine does not allow it. */
export async function smallDisk(bytes: number): Promise<SmallDisk | null> {
  const folder = await temporaryFolder();
  try {
    execFileSync(tools.mount, ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    process.stderr.write('NOT TRIED: a full disk. This user cannot mount a file system in memory\n');
    return null;
  }
  onTestFinished(() => unmount(folder));
  const leave = (freeBytes: number): void => {
    const { blocks, bfree, bsize } = statfsSync(folder);
    const size = (blocks - bfree) * bsize + freeBytes;
    execFileSync(tools.mount, ['-o', `remount,size=${size}`, folder]);
  };
  const remount = (mode: 'ro' | 'rw'): void => void execFileSync(tools.mount, ['-o', `remount,${mode}`, folder]);
  return { folder, leave, remount };
}

// The kernel may release a closed file later, so a busy file system without open files is tried again.
async function unmount(folder: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      execFileSync(tools.unmount, [folder], { stdio: 'pipe' });
      return;
    } catch (cause) {
      const open = openFiles(folder);
      if (tries === TRIES_MAX || open.length > 0)
        throw new Error(`cannot unmount ${folder}; open files: ${open.join(', ')}`, { cause });
      await setTimeout(PAUSE_MS);
    }
  }
}

// Files in the folder that a process has open, as `<process id> <path>`.
function openFiles(folder: string): string[] {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const linksOf = (id: string): string[] =>
    orNone(() => readdirSync(`/proc/${id}/fd`)).flatMap((fd) => orNone(() => [readlinkSync(`/proc/${id}/fd/${fd}`)]));
  return processes.flatMap((id) => linksOf(id).flatMap((path) => (path.startsWith(folder) ? [`${id} ${path}`] : [])));
}

// A process may end, or close a file, while its files are read.
function orNone(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}
