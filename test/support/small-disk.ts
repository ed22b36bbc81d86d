import { execFileSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './folders.ts';

/** Commands of the operating system, usually only for root. Without them the tests are skipped with a message. */
const tools = { mount: 'mount', unmount: 'umount' } as const;

/** A small file system in memory, which is removed when the test ends. */
export interface SmallDisk {
  readonly folder: string;
  /** Leaves this many bytes free. Does not write, so it works while another process uses the disk. */
  leave(freeBytes: number): void;
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
  onTestFinished(() => void execFileSync(tools.unmount, [folder]));
  const leave = (freeBytes: number): void => {
    const { blocks, bfree, bsize } = statfsSync(folder);
    const size = (blocks - bfree) * bsize + freeBytes;
    execFileSync(tools.mount, ['-o', `remount,size=${size}`, folder]);
  };
  return { folder, leave };
}
